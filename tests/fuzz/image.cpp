// PNG and JPEG pictures: our use of libpng and libjpeg.
#include <ronde/core/backend.h>
#include <ronde/data/image_file.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  decode_image(bytes, "fuzz.png");
}

std::vector<std::string> seeds() {
  const TensorOptions options{.dtype = DType::u8, .backend = &backend("cpu")};
  return {encode_png(Tensor::full({5, 4, 3}, 90.0, options)),
          encode_png(Tensor::full({3, 3, 1}, 7.0, options))};
}

}  // namespace ronde::fuzz
