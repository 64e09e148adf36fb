#define RONDE_FMA_BYTES 16
#define RONDE_FMA_CHAINS 24
#define RONDE_FMA_LOOP fma_loop_neon
#include "machine_speed/fma_loop_body.h"
