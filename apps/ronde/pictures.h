/// Pictures from files, as a net takes them.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::apps {

struct PictureOptions {
  bool resize = false;  ///< else a picture of another size is an error
  double scale = 1.0;   ///< the net sees byte * scale + offset
  double offset = 0.0;
};

/// f32 (files, h, w, c) for a net that takes `shape` (h, w, c): PNG and JPEG files, grey or in colour as c
/// says, and files of h * w * c bytes. IoError, InputError with the file's name; of a wrong size with both
/// sizes.
Tensor read_pictures(const std::vector<std::string>& files, const Shape& shape,
                     const PictureOptions& options);

}  // namespace ronde::apps
