#define RONDE_FMA_BYTES 16
#define RONDE_FMA_CHAINS 12
#define RONDE_FMA_LOOP fma_loop_portable
#include "machine_speed/fma_loop_body.h"
