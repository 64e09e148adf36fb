// Compiled with AVX2 and FMA.
#define RONDE_VECTOR_BYTES 32
#define RONDE_VECTOR_REGISTERS 16
#define RONDE_KERNEL_TABLE kAvx2Kernels
#include "backend/onednn/kernels/multiply_lower_avx2.h"
// behind it, as its kernels call what that defines
#include "backend/onednn/kernels/all_loops.h"
