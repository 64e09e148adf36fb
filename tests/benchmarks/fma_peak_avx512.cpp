#define RONDE_FMA_BYTES 64
#define RONDE_FMA_CHAINS 24
#define RONDE_FMA_LOOP fma_loop_avx512
#include "fma_loop.h"
