#include <png.h>

#include <cstdint>

#include <ronde/core/error.h>
#include <ronde/data/image_file.h>

#include "images/codecs.h"

namespace ronde::inline v0 {

std::string encode_png(const Tensor& image) {
  check_image(image, "encode_png");
  const Tensor pixels = image.contiguous();
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(pixels.size(0));
  png.width = static_cast<png_uint_32>(pixels.size(1));
  png.format = pixels.size(2) == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  // An upper bound, so that the picture is compressed once.
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string out(bytes, '\0');
  const int ok = png_image_write_to_memory(&png, out.data(), &bytes, 0, pixels.raw(), 0, nullptr);
  require(ok != 0, "[encode_png] ", image, ": ", png.message);
  out.resize(bytes);
  return out;
}

}  // namespace ronde::inline v0
