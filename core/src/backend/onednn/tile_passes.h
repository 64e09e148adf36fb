/// What convolutions by tiles want prepared: filters in tiles, images in frames, and where pixels go. Note
/// [Tiles] in tile_conv2d.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include <ronde/core/backend.h>

#include "backend/cpu/scratch.h"
#include "backend/onednn/conv_passes.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/kernels/kernels.h"

namespace ronde::inline v0 {

/// How many images a thread brings into one frame: small ones fill tiles together, and many filters go by
/// once for all of them.
std::int64_t images_in_frame(Backend& backend, const ConvProblem& problem);

/// Of an image; null of an undefined tensor.
inline std::uint8_t* argmax_of(const Tensor& argmax, std::int64_t image, std::int64_t elements) {
  return argmax.defined() ? argmax.data<std::uint8_t>() + image * elements : nullptr;
}

/// Images, or a weight, as bfloat16: where they lie, or rounded in scratch.
class HalfImages {
 public:
  /// `n` of them, all of which make the tensor; an undefined one has none.
  HalfImages(Backend& backend, const Kernels& kernels, const Tensor& tensor, std::int64_t n);

  /// Until the next call; null of an undefined tensor.
  const std::uint16_t* operator()(std::int64_t image) const;

 private:
  const Kernels& kernels_;
  std::int64_t elements_;
  const std::uint16_t* halves_;
  const float* floats_;
  Scratch<std::uint16_t> rounded_;
};

/// A frame of zeros.
class TileFrame {
 public:
  TileFrame(Backend& backend, const TileConvShape& shape);
  std::uint16_t* data() const { return elements_.data(); }

 private:
  Scratch<std::uint16_t> elements_;
};

/// Where the pixels that a convolution's frame numbers have their place in images or another frame, for all
/// threads; those that are thrown away have that of the next one that is not, or are all at one place.
class PlaceTable {
 public:
  PlaceTable(Backend& backend, const TileConvShape& numbering, const PixelPlaces& places,
             std::optional<std::int64_t> thrown_away = std::nullopt);
  const std::int32_t* data() const { return places_.data(); }

 private:
  Scratch<std::int32_t> places_;
};

/// The forward pass, or the gradient of the input, prepared for all threads.
class TileConv {
 public:
  /// Frames hold `images`. `bias` may be null; must outlive this.
  TileConv(Backend& backend, const Kernels& kernels, const ConvProblem& problem, std::int64_t images,
           const Tensor& weight, const float* bias);

  const TileConvShape& shape() const { return shape_; }
  void operator()(const TileConvResult& to, const std::uint16_t* frame, std::int64_t images) const {
    tiles_.conv(to, frame, weights_.data(), bias_, shape_.with_images(images), epilogue_);
  }

 private:
  const TileKernels& tiles_;
  TileConvShape shape_;
  const float* bias_;
  Epilogue epilogue_;
  Scratch<std::uint16_t> weights_;
};

/// The gradient of the weight and of the bias.
class TileWeightGradient {
 public:
  /// Images are added up in `chunks` sums.
  TileWeightGradient(Backend& backend, const Kernels& kernels, const ConvProblem& problem, std::int64_t images,
                     int chunks);

  class Runner {
   public:
    Runner(const TileWeightGradient& pass, int chunk);
    /// Whoever makes the result's gradient adds it up there; null without a bias.
    float* bias_sums() const { return bias_sums_; }
    void add(const TileGradientOperands& operands, std::int64_t images) const;

   private:
    const TileWeightGradient& pass_;
    float *sums_, *bias_sums_;
    Scratch<std::uint16_t> scratch_;
  };

  /// Writes the sum of all chunks; `grad_bias` may be null.
  void collect(float* grad_weight, float* grad_bias) const;

 private:
  std::int64_t chunk_elements() const;

  Backend& backend_;
  const Kernels& kernels_;
  TileConvShape shape_;
  bool has_bias_;
  int chunks_;
  Scratch<float> sums_;  // of each chunk those of the weight, and of the bias
};

/// What stands in front of a convolution by tiles, prepared for all threads: by tiles too, or not.
class TileFront {
 public:
  /// Frames hold `images`. `floats`: the weight in f32, for a front that is not made of tiles; `behind`: the
  /// convolution that reads the results.
  TileFront(Backend& backend, const Kernels& kernels, ConvKernels algorithm, const ConvProblem& problem,
            const Conv2dStage& stage, const Tensor& floats, const TileConvShape& behind);

  /// The pass; null if it is the other one.
  const TileConv* tiles() const { return tiles_ ? &*tiles_ : nullptr; }
  const ImagePass* floats() const { return floats_ ? &*floats_ : nullptr; }
  const ConvProblem& problem() const { return problem_; }
  /// Of a front by tiles: where its results are in the frame behind it.
  const std::int32_t* places() const { return places_->data(); }

 private:
  ConvProblem problem_;
  std::optional<TileConv> tiles_;
  std::optional<PlaceTable> places_;
  std::optional<ImagePass> floats_;
};

/// What a convolution by tiles reads, of one thread: images, or what a front makes of them, in its frame.
class FramedImages {
 public:
  /// `front` may be null.
  FramedImages(Backend& backend, const Kernels& kernels, const Tensor& x, std::int64_t n,
               const TileFront* front, const TileConvShape& shape);

  /// The frame with those images; until the next call.
  const std::uint16_t* operator()(std::int64_t first, std::int64_t images) const;
  /// The frame that a front by tiles has read.
  const std::uint16_t* front_frame() const { return front_frame_->data(); }

 private:
  // A front that is no convolution by tiles.
  struct FloatFront {
    ReadRows x;
    ImagePass::Runner run;
    Scratch<float> result;
    Scratch<std::uint16_t> rounded;
    FloatFront(Backend& backend, const Kernels& kernels, const Tensor& images, std::int64_t n,
               const TileFront& front);
  };
  void read(const TileFrame& frame, const TileConvShape& shape, std::int64_t first, std::int64_t images) const;
  void make(const FloatFront& front, std::int64_t first, std::int64_t images) const;

  const Kernels& kernels_;
  const TileFront* front_;
  TileConvShape shape_;
  HalfImages x_;
  TileFrame frame_;
  std::optional<FloatFront> float_front_;
  std::optional<TileFrame> front_frame_;  // of one that is
};

}  // namespace ronde::inline v0
