#include <ronde/models/seal.h>

#include "export/safetensors_types.h"
#include "keras_file/trailer.h"

namespace ronde::inline v0 {

bool is_sealed(std::string_view bytes) {
  return has_trailer(bytes) || find_safetensors_hash(bytes).has_value();
}

}  // namespace ronde::inline v0
