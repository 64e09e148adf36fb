// ARM's vectors of 16 bytes, of which there are twice as many registers as any 64-bit machine has.
#define RONDE_VECTOR_BYTES 16
#define RONDE_VECTOR_REGISTERS 32
#define RONDE_KERNEL_TABLE kNeonKernels
#include "backend/onednn/kernels/multiply_lower_neon.h"
// behind it, as its kernels call what that defines
#include "backend/onednn/kernels/all_loops.h"
