#include "ronde/pictures.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/data/image_file.h>
#include <ronde/models/file_io.h>

namespace ronde::apps {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

bool is_encoded(std::string_view bytes) {
  return bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8");
}

Tensor raw_picture(const std::string& bytes, const std::string& file, const Shape& shape) {
  require<InputError>(std::ssize(bytes) == shape.count(), file, ": is neither PNG nor JPEG, and its ",
                      counted(std::ssize(bytes), "byte"), " are not the ", grouped(shape.count()),
                      " of a raw picture ", shape);
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Tensor::from<std::uint8_t>(shape, std::span(first, bytes.size()));
}

/// u8 (h, w, c)
Tensor read_picture(const std::string& file, const Shape& shape, bool resize) {
  const std::string bytes = read_file(file, kMostBytes);
  if (!is_encoded(bytes)) return raw_picture(bytes, file, shape);
  const Tensor image = decode_image(bytes, file, shape[2] == 1 ? ImageChannels::grey : ImageChannels::rgb);
  if (image.shape() == shape) return image;
  require<InputError>(resize, file, ": is ", image.size(0), " x ", image.size(1),
                      " pixels (height x width), the net takes ", shape[0], " x ", shape[1],
                      ": give --resize to bring it to that size");
  return resize_image(image, shape[0], shape[1]);
}

}  // namespace

Tensor read_pictures(const std::vector<std::string>& files, const Shape& shape,
                     const PictureOptions& options) {
  require<UsageError>(shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3), "the net takes inputs of shape ",
                      shape, ", which are no pictures (height, width, 1 or 3)");
  std::vector<float> values;
  values.reserve(files.size() * static_cast<std::size_t>(shape.count()));
  for (const std::string& file : files)
    for (const std::uint8_t byte : read_picture(file, shape, options.resize).to_vector<std::uint8_t>())
      values.push_back(static_cast<float>(byte * options.scale + options.offset));
  return Tensor::from<float>({std::ssize(files), shape[0], shape[1], shape[2]}, values);
}

}  // namespace ronde::apps
