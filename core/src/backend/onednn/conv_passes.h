/// The passes of a convolution by our own kernels: prepared once, then any thread runs them on some images.
///
///     const ImagePass forward(backend, kernels, ConvKernels::winograd, problem, weight, bias);
///     const ImagePass::Runner run(forward);   // one for each thread
///     run(out, x, images);
#pragma once

#include <algorithm>
#include <optional>

#include <ronde/core/conv2d_layer.h>
#include <ronde/core/whole_numbers.h>

#include "backend/cpu/conv_shape.h"
#include "backend/cpu/scratch.h"
#include "backend/onednn/conv_primitive.h"
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/norm_map.h"
#include "backend/onednn/padded_images.h"

namespace ronde::inline v0 {

/// The direct kernels go through all weights for each block of pixels: with more of them than the second
/// level cache holds, products of patches (Note [Patches]) and oneDNN, which cut them into pieces, are
/// faster.
constexpr std::int64_t kMostDirectWeights = 65536;

/// Note [Winograd] in winograd_conv2d.cpp; direct_conv2d.cpp; Note [Tiles] in tile_conv2d.cpp
enum class ConvKernels { winograd, direct, tiles };

inline ConvProblem problem_of(ConvPass pass, const Shape& x, const Shape& weight, const Shape& out,
                              const Conv2dParams& params) {
  return {.pass = pass,
          .n = x[0],
          .h = x[1],
          .w = x[2],
          .c = x[3],
          .oh = out[1],
          .ow = out[2],
          .o = out[3],
          .kh = weight[1],
          .kw = weight[2],
          .params = params};
}
/// Another pass of the same convolution.
inline ConvProblem with_pass(ConvProblem p, ConvPass pass) {
  p.pass = pass;
  return p;
}
/// From an image to the next one.
inline std::int64_t in_elements(const ConvProblem& p) {
  return p.h * p.w * std::max(p.c, p.all_c);
}
inline std::int64_t out_elements(const ConvProblem& p) {
  return p.oh * p.ow * std::max(p.o, p.all_o);
}

/// The forward pass of a stage for images x.
inline ConvProblem stage_problem(const Shape& x, const Conv2dStage& stage) {
  const Shape weight = stage.weight.shape();
  ConvProblem p =
      problem_of(ConvPass::forward, x, weight, conv2d_shape(x, weight, stage.params), stage.params);
  p.relu = stage.epilogue == Epilogue::relu;
  return p;
}
inline Shape out_shape(const ConvProblem& p) {
  return {p.n, p.oh, p.ow, p.o};
}

WinogradShape winograd_shape(const ConvProblem& problem);
/// Of the convolution that is run, which for the gradient of the input is another one.
TileConvShape tile_shape(const ConvProblem& problem);

/// Which of our own kernels make a layer, and which make which of the gradients. Each problem is of its own
/// pass.
struct OwnForward {
  ConvProblem problem, front_problem;
  ConvKernels conv;
  std::optional<ConvKernels> front;
};
struct OwnBackward {
  ConvProblem input_problem, weight_problem, front_problem, front_weight_problem;
  std::optional<ConvKernels> input, weight, front, front_weight;

  bool is_tiled() const { return input == ConvKernels::tiles || weight == ConvKernels::tiles; }
};

/// Images of which a thread has the convolution's result, and `more` floats of each, in its scratch at a
/// time: three quarters of a megabyte, but enough for a block of Winograd's tiles. Less was slower, as blocks
/// are left half empty; more did not fit.
inline std::int64_t images_at_once(const ConvProblem& p, std::int64_t more) {
  constexpr std::int64_t kElements = 196608;
  const WinogradShape s = winograd_shape(p);
  const std::int64_t tiles = s.tiles_h * s.tiles_w, least = ceil_divide<std::int64_t>(s.block, tiles);
  const std::int64_t fitting = kElements / (out_elements(p) + more);
  return std::min(std::max(fitting, least), p.n);
}
/// Whether Winograd's tiles of the problem hold whole windows of a pooling that takes all of its output.
bool holds_windows(const ConvProblem& problem, const PoolShape& pool);
/// Elements of the transformed filters of a forward pass or an input gradient.
std::int64_t winograd_filters(const ConvProblem& problem, std::int64_t lanes);

/// One of the parts in which threads share an image's result, where there are fewer images than threads.
struct ImagePart {
  std::int64_t number, parts;

  /// Of `count` rows or tiles.
  std::int64_t begin(std::int64_t count) const { return count * number / parts; }
  std::int64_t end(std::int64_t count) const { return count * (number + 1) / parts; }
};

/// Fewer images than threads: Note [Few images] in few_images.cpp.
bool has_few_images(const ThreadPool& threads, const ConvProblem& problem);
/// In how many parts threads share an image of such a batch, and in how many ImageBands; 1: not. In how many
/// parts the channels of a pass are made; 0: it takes images.
std::int64_t parts_of_image(const ThreadPool& threads, const ConvProblem& problem);
std::int64_t bands_of_image(const ThreadPool& threads, const ConvProblem& problem);
std::int64_t parts_of_channels(const ThreadPool& threads, const ConvProblem& problem, ConvKernels kernels);

/// Rows of a result that stay in the second level cache beside what they are made of.
inline std::int64_t rows_in_cache(const ConvProblem& p) {
  constexpr std::int64_t kElements = 32768;
  return std::max<std::int64_t>(kElements / (p.ow * p.o), 1);
}
/// Calls f(begin, end) for `most` rows at a time.
template <class F>
void in_bands(std::int64_t begin, std::int64_t end, std::int64_t most, const F& f) {
  for (; begin < end; begin += most) f(begin, std::min(begin + most, end));
}
/// The norm of rows [begin, end) of an image's result, in place.
inline void map_rows(const NormMap& norm, float* image, const ConvProblem& p, std::int64_t begin,
                     std::int64_t end) {
  float* first = image + begin * p.ow * p.o;
  norm(first, first, (end - begin) * p.ow);
}

/// Some rows of an image's result as a convolution of their own, and where they and what they are made of
/// begin.
struct ImageBand {
  ConvProblem problem;
  std::int64_t in, out;  ///< elements

  ImageBand(const ConvProblem& whole, ImagePart part);
};

/// The forward pass, or the gradient of the input; those by tiles are in tile_passes.h.
class ImagePass {
 public:
  /// `bias` may be null; must outlive this.
  ImagePass(Backend& backend, const Kernels& kernels, ConvKernels algorithm, const ConvProblem& problem,
            const float* weight, const float* bias);

  /// Whether this is a forward pass that can pool its results like that.
  bool pools_by(const PoolShape& pool) const {
    return algorithm_ == ConvKernels::winograd && holds_windows(problem_, pool);
  }

  /// Whether this is a forward pass that can make a part of an image.
  bool has_parts() const { return problem_.pass == ConvPass::forward; }

  class Runner {
   public:
    explicit Runner(const ImagePass& pass);
    /// From x to out, or from out's gradient to x's.
    void operator()(float* to, const float* from, std::int64_t images) const;
    /// A forward pass, and a norm of its results while they are in the cache.
    void operator()(float* to, const float* from, std::int64_t images, const NormMap& norm) const;
    /// The same with that pooling behind it; only if the pass pools_by(it).
    void operator()(PooledOutput to, const float* from, std::int64_t images) const;
    /// A part of one image's result; only if the pass has_parts().
    void operator()(float* to, const float* from, ImagePart part) const;
    /// Null if the algorithm is another one.
    const float* winograd_filters() const {
      return pass_.algorithm_ == ConvKernels::winograd ? pass_.weights_.data() : nullptr;
    }

   private:
    void run_winograd(float* to, const float* from, std::int64_t images) const;
    void run_winograd(float* to, const float* from, TileRange tiles) const;
    void run_direct(float* to, const float* from, std::int64_t images) const;
    // Rows of the result, of an image that may be padded.
    void run_direct(float* to, const float* padded, std::int64_t begin, std::int64_t end) const;
    void run_direct(float* to, const float* from, std::int64_t images, const NormMap& norm) const;
    void run_winograd(float* to, const float* from, std::int64_t images, const NormMap& norm) const;
    Epilogue epilogue() const { return pass_.problem_.relu ? Epilogue::relu : Epilogue::none; }

    const ImagePass& pass_;
    Scratch<float> scratch_;
    std::optional<PaddedImages> padded_;
  };

 private:
  void prepare_winograd(const float* weight);
  void prepare_direct(const float* weight);

  Backend& backend_;
  const Kernels& kernels_;
  ConvKernels algorithm_;
  ConvProblem problem_;  // direct: of the convolution that is run, which for a gradient is another one
  const float* bias_;
  Scratch<float> weights_;  // as the kernel wants them
};

/// The gradient of the weight and of the bias.
class WeightGradientPass {
 public:
  /// Images are added up in `chunks` sums.
  WeightGradientPass(Backend& backend, const Kernels& kernels, ConvKernels algorithm,
                     const ConvProblem& problem, int chunks);

  class Runner {
   public:
    Runner(const WeightGradientPass& pass, int chunk);
    void add(const float* grad_out, const float* x, std::int64_t images) const;
    /// And grad_x, as `input` makes it; with Winograd's algorithm that saves a transform.
    void add(const float* grad_out, const float* x, std::int64_t images, const ImagePass::Runner& input,
             float* grad_x) const;
    /// Once, behind the last images of the chunk.
    void finish() const;

   private:
    void add_winograd(const float* grad_out, const float* x, std::int64_t images, float* grad_x,
                      const float* filters) const;

    const WeightGradientPass& pass_;
    float* sum_;                       // of the chunk: (kh * kw * c + 1, o), the last row is the bias
    float* bias_sum_;                  // null without
    Scratch<float> points_, scratch_;  // Winograd's
    std::optional<PaddedImages> padded_;
  };

  /// Writes the sum of all chunks; `grad_bias` may be null.
  void collect(float* grad_weight, float* grad_bias) const;

 private:
  std::int64_t taps() const { return problem_.kh * problem_.kw * problem_.c; }
  std::int64_t chunk_elements() const { return (taps() + 1) * problem_.o; }

  Backend& backend_;
  const Kernels& kernels_;
  ConvKernels algorithm_;
  ConvProblem problem_;
  int chunks_;
  Scratch<float> sums_;
};

}  // namespace ronde::inline v0
