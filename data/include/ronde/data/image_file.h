/// Pictures in files and in memory: PNG and JPEG.
///
///     Tensor cat = read_image("cat.jpg");                    // u8 (h, w, 3)
///     std::ofstream("cat.png", std::ios::binary) << encode_png(cat);
///
/// Thread safety: free functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// How many channels a decoded picture gets.
enum class ImageChannels { as_stored, grey, rgb };

/// u8 (h, w, c), c = 1 (grey) or 3 (red, green, blue); transparency is put on black, 16 bit become 8. Values
/// are as stored: no correction for gamma, no turning by EXIF. Grey of colours is BT.601, as Pillow's.
/// InputError, with `source`, when the bytes are neither PNG nor JPEG, are damaged or cut off, or when the
/// picture has more than 2^27 pixels.
RONDE_API Tensor decode_image(std::string_view bytes, const std::string& source,
                              ImageChannels channels = ImageChannels::as_stored);
/// IoError when the file cannot be read; InputError as above.
RONDE_API Tensor read_image(const std::string& path, ImageChannels channels = ImageChannels::as_stored);
/// (height, width, c) u8 from (h, w, c) u8, bilinear with half-pixel centres, averaged over the area where it
/// shrinks: the bytes of Pillow's BILINEAR, so also of Keras' load_img with that interpolation.
RONDE_API Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width);
/// The bytes of a PNG file of u8 (h, w, c), c = 1 or 3.
RONDE_API std::string encode_png(const Tensor& image);

}  // namespace ronde::inline v0
