// Vectors of 16 bytes: what any 64-bit machine has.
#define RONDE_VECTOR_BYTES 16
#define RONDE_VECTOR_REGISTERS 16
#define RONDE_KERNEL_TABLE kPortableKernels
#include "backend/onednn/kernels/multiply_lower.h"
// behind it, as its kernels call what that defines
#include "backend/onednn/kernels/all_loops.h"
