#include <ronde/models/saved_model.h>

#include "keras_file/model_ending.h"

namespace ronde::inline v0 {

SavedLayout layout_for(std::string_view path) {
  if (path.ends_with(".keras")) return SavedLayout::archive;
  return path.ends_with(".weights.h5") ? SavedLayout::weights_h5 : SavedLayout::h5;
}

void require_model_ending(const char* verb, const std::string& path) {
  for (const char* other : {".onnx", ".pt", ".pth", ".tflite", ".pb", ".mlmodel", ".safetensors", ".npz",
                            ".npy", ".zip", ".json", ".yaml", ".yml", ".txt"})
    require<UsageError>(!path.ends_with(other), "[", verb, "] ", path, ": ", other,
                        " is another format. Models are saved as .h5 or .keras, and weights alone, by "
                        "save_weights, as .weights.h5, .safetensors or .npz too; write_onnx and `ronde "
                        "export` write .onnx");
}

}  // namespace ronde::inline v0
