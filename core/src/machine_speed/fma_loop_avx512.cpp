#define RONDE_FMA_BYTES 64
#define RONDE_FMA_CHAINS 24
#define RONDE_FMA_LOOP fma_loop_avx512
#include "machine_speed/fma_loop_body.h"
