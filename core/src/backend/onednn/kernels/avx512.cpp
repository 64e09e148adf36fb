// Compiled with AVX-512 F, BW, DQ and VL.
#define RONDE_VECTOR_BYTES 64
#define RONDE_VECTOR_REGISTERS 32
#define RONDE_KERNEL_TABLE kAvx512Kernels
#include "backend/onednn/kernels/multiply_lower_avx512.h"
// behind it, as its kernels call what that defines
#include "backend/onednn/kernels/all_loops.h"
