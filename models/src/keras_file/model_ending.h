/// Which endings of paths a model may be saved under.
#pragma once

#include <string>

namespace ronde::inline v0 {

/// A UsageError for an ending that promises another format than Keras' (.onnx, .pt, ...), which says who
/// writes what. Any other ending, or none, is HDF5. `verb`: "save", as the error names it.
void require_model_ending(const char* verb, const std::string& path);

}  // namespace ronde::inline v0
