/// The decoders behind ronde/data/image_file.h. Bytes are not trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// No picture that a net is trained on is larger; a few hostile bytes can claim any size.
inline constexpr std::int64_t kMaxImageSide = 65'500;
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 27;

/// Throws an InputError about `source`.
[[noreturn]] void fail_image(const std::string& source, const std::string& problem);
/// u8 (height, width, channels) in host memory, or an InputError when that is too large.
Tensor allocate_image(const std::string& source, std::int64_t height, std::int64_t width,
                      std::int64_t channels);

/// Error in the name of `who` unless `image` is u8 (h, w, 1 or 3) and not empty.
void check_image(const Tensor& image, const char* who);

bool is_png(std::string_view bytes);
bool is_jpeg(std::string_view bytes);
/// u8 (h, w, 1 or 3), as stored.
Tensor decode_png(std::string_view bytes, const std::string& source);
Tensor decode_jpeg(std::string_view bytes, const std::string& source);

}  // namespace ronde::inline v0
