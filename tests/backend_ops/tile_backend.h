/// The fast backend of a processor with tiles of bf16, on any processor: a model computes what the
/// instructions would.
#pragma once

#include <memory>

#include <ronde/core/backend.h>

namespace ronde::test {

/// Null in a build without oneDNN.
std::unique_ptr<Backend> make_tile_backend();
/// Whether the backend is one, by the model or by the processor's own tiles.
bool has_tiles(const Backend& backend);

}  // namespace ronde::test
