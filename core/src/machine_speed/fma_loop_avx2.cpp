#define RONDE_FMA_BYTES 32
#define RONDE_FMA_CHAINS 12
#define RONDE_FMA_LOOP fma_loop_avx2
#include "machine_speed/fma_loop_body.h"
