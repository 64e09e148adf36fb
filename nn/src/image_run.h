/// ImageRun: layers of a Sequential that one call of conv2d_layer computes, image by image, so that what lies
/// between them need not leave a core's cache:
///
///     [Conv2D ->] Conv2D [-> MaxPooling2D] [-> Dropout]
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ronde/nn/conv2d.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/max_pooling2d.h>

namespace ronde::inline v0 {

class ImageRun {
 public:
  /// The longest one that `layers` begin with, for an input x. Classes derived from these layers may compute
  /// something else, and images of another size than in `build` get their errors from the layers: such runs
  /// are empty.
  ImageRun(std::span<Module* const> layers, const Variable& x);

  std::size_t length() const { return length_; }
  Variable operator()(const Variable& x, const Context& context) const;
  /// The layers' paths, for a timeline.
  std::string path() const;

 private:
  template <class Layer>
  Layer* next();

  std::span<Module* const> layers_;
  std::size_t length_ = 0;
  Conv2D* front_ = nullptr;
  Conv2D* conv_ = nullptr;
  MaxPooling2D* pool_ = nullptr;
  Dropout* dropout_ = nullptr;
};

}  // namespace ronde::inline v0
