/// From the Status of a Runtime to an Error.
#pragma once

#include <ronde/core/error.h>

#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

/// The device cannot go on: what it was given last is lost.
inline void check(const Status& status, const char* doing) {
  require(status.ok(), "[cuda] ", doing, ": ", status.text);
}

}  // namespace ronde::inline v0::cuda
