#include <ronde/data/image_file.h>

#include <algorithm>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>

#include "files/input_file.h"
#include "images/codecs.h"

namespace ronde::inline v0 {
namespace {

/// ITU-R BT.601, in 16 bit fixed point.
Tensor to_grey(const Tensor& rgb) {
  const Tensor grey =
      Tensor::empty({rgb.size(0), rgb.size(1), 1}, {.dtype = DType::u8, .backend = &rgb.backend()});
  const auto* from = rgb.data<std::uint8_t>();
  auto* to = grey.data<std::uint8_t>();
  for (std::int64_t i = 0; i < grey.count(); ++i, from += 3)
    to[i] = static_cast<std::uint8_t>((19595 * from[0] + 38470 * from[1] + 7471 * from[2] + 32768) >> 16);
  return grey;
}

// Not by a kernel: loader threads decode pictures, and would keep the pool's threads from a training step.
Tensor to_rgb(const Tensor& grey) {
  const Tensor rgb =
      Tensor::empty({grey.size(0), grey.size(1), 3}, {.dtype = DType::u8, .backend = &grey.backend()});
  const auto* from = grey.data<std::uint8_t>();
  auto* to = rgb.data<std::uint8_t>();
  for (std::int64_t i = 0; i < grey.count(); ++i, to += 3) std::fill_n(to, 3, from[i]);
  return rgb;
}

}  // namespace

void fail_image(const std::string& source, const std::string& problem) {
  throw InputError(cat("data: ", source, ": ", problem));
}

void check_image(const Tensor& image, const char* who) {
  const bool fits = image.defined() && image.rank() == 3 && image.dtype() == DType::u8 && image.count() > 0 &&
                    (image.size(2) == 1 || image.size(2) == 3);
  require(fits, "[", who, "] expects a picture u8 (h, w, 1 or 3), got ",
          image.defined() ? to_string(image) : "nothing");
}

Tensor allocate_image(const std::string& source, std::int64_t height, std::int64_t width,
                      std::int64_t channels) {
  if (height > kMaxImageSide || width > kMaxImageSide || height * width > kMaxImagePixels)
    fail_image(source, cat("a picture of ", width, " x ", height, ", expected at most ",
                           grouped(kMaxImagePixels), " pixels"));
  return Tensor::empty({height, width, channels}, {.dtype = DType::u8});
}

Tensor decode_image(std::string_view bytes, const std::string& source, ImageChannels channels) {
  if (!is_png(bytes) && !is_jpeg(bytes))
    fail_image(source,
               bytes.empty() ? "empty, expected a PNG or JPEG file" : "neither a PNG nor a JPEG file");
  const Tensor image = is_png(bytes) ? decode_png(bytes, source) : decode_jpeg(bytes, source);
  if (channels == ImageChannels::grey && image.size(2) == 3) return to_grey(image);
  if (channels == ImageChannels::rgb && image.size(2) == 1) return to_rgb(image);
  return image;
}

Tensor read_image(const std::string& path, ImageChannels channels) {
  constexpr std::uint64_t kMaxBytes = 256 << 20;
  const InputFile file(path);
  file.expect(file.size() <= kMaxBytes, "holds ", counted(file.size(), "byte"),
              ", expected a picture of at most ", grouped(kMaxBytes));
  std::string bytes(file.size(), '\0');
  file.read(0, bytes.data(), bytes.size());
  return decode_image(bytes, path, channels);
}

}  // namespace ronde::inline v0
