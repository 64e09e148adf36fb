/// OneDnnBackend ("onednn"): the fast backend of a CPU for f32 and bf16: our own vectorised loops (kernels/),
/// and oneDNN for convolutions and matrix products of rarer shapes; what it does not speed up (f64, strided
/// views) is the oracle's. Work is split over `threads()`; each thread runs single-threaded kernels on its
/// part, so results are the same for the same number of threads. See Note [Fast convolutions] in conv2d.cpp.
#pragma once

#include <memory>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

/// The backend, or nullptr in a build without oneDNN. A UsageError when `$RONDE_ISA` names an instruction set
/// that does not exist or that this machine lacks.
std::unique_ptr<Backend> make_onednn_backend();

}  // namespace ronde::inline v0
