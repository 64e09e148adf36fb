#include "backend/onednn/tile_passes.h"

#include <algorithm>

#include <ronde/core/thread_pool.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

namespace {

// Sums that pay for one more thread.
constexpr std::int64_t kSumGrain = 16384;

}  // namespace

std::int64_t images_in_frame(Backend& backend, const ConvProblem& p) {
  // A frame's elements: more beside many filters, which are read for each frame.
  constexpr std::int64_t kLeastElements = 32768, kMostElements = 524288;
  const std::int64_t elements = std::clamp(p.kh * p.kw * p.c * p.o / 4, kLeastElements, kMostElements);
  const TileConvShape shape = tile_shape(p);
  const std::int64_t of_image = shape.frame_h() * shape.frame_w() * std::max(p.c, p.o);
  const std::int64_t of_thread = ceil_divide<std::int64_t>(p.n, backend.threads().chunks(p.n, 1));
  const std::int64_t most = std::clamp<std::int64_t>(elements / of_image, 1, of_thread);
  return ceil_divide(of_thread, ceil_divide(of_thread, most));  // as many in each frame
}

HalfImages::HalfImages(Backend& backend, const Kernels& kernels, const Tensor& tensor, std::int64_t n)
    : kernels_(kernels),
      elements_(tensor.defined() ? tensor.count() / n : 0),
      halves_(is_bfloat16(tensor) ? bits_of(tensor) : nullptr),
      floats_(tensor.defined() && !halves_ ? tensor.data<float>() : nullptr),
      rounded_(backend, floats_ ? elements_ : 0) {}

const std::uint16_t* HalfImages::operator()(std::int64_t image) const {
  if (halves_) return halves_ + image * elements_;
  if (!floats_) return nullptr;
  kernels_.to_bfloat16(rounded_.data(), floats_ + image * elements_, elements_);
  return rounded_.data();
}

TileFrame::TileFrame(Backend& backend, const TileConvShape& shape)
    : elements_(backend, shape.frame_elements()) {
  std::fill_n(elements_.data(), shape.frame_elements(), std::uint16_t{0});
}

PlaceTable::PlaceTable(Backend& backend, const TileConvShape& numbering, const PixelPlaces& places,
                       std::optional<std::int64_t> thrown_away)
    : places_(backend, numbering.used_pixels()) {
  std::int64_t next = 0, pixel = numbering.images * numbering.frame_h() * numbering.frame_w();
  const auto put = [&](std::int64_t place) {
    if (--pixel < numbering.used_pixels()) places_.data()[pixel] = static_cast<std::int32_t>(place);
  };
  for (std::int64_t image = numbering.images - 1; image >= 0; --image)
    for (std::int64_t row = numbering.frame_h() - 1; row >= 0; --row)
      for (std::int64_t column = numbering.frame_w() - 1; column >= 0; --column) {
        if (row >= numbering.oh || column >= numbering.ow) {
          put(thrown_away.value_or(next));
          continue;
        }
        next =
            places.first + image * places.image_pitch + row * places.row_pitch + column * places.pixel_pitch;
        put(next);
      }
}

TileConv::TileConv(Backend& backend, const Kernels& kernels, const ConvProblem& problem, std::int64_t images,
                   const Tensor& weight, const float* bias)
    : tiles_(*kernels.tiles),
      shape_(tile_shape(problem).with_images(images)),
      bias_(bias),
      epilogue_(problem.relu ? Epilogue::relu : Epilogue::none),
      weights_(backend, shape_.column_tiles() * shape_.filter_elements()) {
  const HalfImages halves(backend, kernels, weight, 1);
  const std::uint16_t* filters = halves(0);
  backend.threads().parallel_for(shape_.column_tiles(), 1, [&](std::int64_t begin, std::int64_t end) {
    tiles_.conv_weights(weights_.data(), filters, shape_, problem.pass == ConvPass::backward_input, begin, end);
  });
}

TileWeightGradient::TileWeightGradient(Backend& backend, const Kernels& kernels, const ConvProblem& problem,
                                       std::int64_t images, int chunks)
    : backend_(backend),
      kernels_(kernels),
      shape_(tile_shape(problem).with_images(images)),
      has_bias_(problem.has_bias),
      chunks_(chunks),
      sums_(backend, chunk_elements() * chunks) {}

std::int64_t TileWeightGradient::chunk_elements() const {
  return shape_.sum_elements() + shape_.column_tiles() * kTileColumns;
}

TileWeightGradient::Runner::Runner(const TileWeightGradient& pass, int chunk)
    : pass_(pass),
      sums_(pass.sums_.data() + chunk * pass.chunk_elements()),
      bias_sums_(pass.has_bias_ ? sums_ + pass.shape_.sum_elements() : nullptr),
      scratch_(pass.backend_, pass.shape_.gradient_scratch()) {
  std::fill_n(sums_, pass.chunk_elements(), 0.0f);
}

void TileWeightGradient::Runner::add(const TileGradientOperands& operands, std::int64_t images) const {
  pass_.kernels_.tiles->add_conv_gradient(sums_, operands, pass_.shape_.with_images(images), scratch_.data());
}

void TileWeightGradient::collect(float* grad_weight, float* grad_bias) const {
  float* sums = sums_.data();
  backend_.threads().parallel_for(chunk_elements(), kSumGrain, [&](std::int64_t begin, std::int64_t end) {
    for (int chunk = 1; chunk < chunks_; ++chunk)
      kernels_.accumulate(sums + begin, sums + chunk_elements() * chunk + begin, 1.0f, end - begin);
  });
  backend_.threads().parallel_for(shape_.column_tiles(), 1, [&](std::int64_t begin, std::int64_t end) {
    kernels_.tiles->conv_gradient(grad_weight, sums, shape_, begin, end);
  });
  if (grad_bias) std::copy_n(sums + shape_.sum_elements(), shape_.o, grad_bias);
}

TileFront::TileFront(Backend& backend, const Kernels& kernels, ConvKernels algorithm,
                     const ConvProblem& problem, const Conv2dStage& stage, const Tensor& floats,
                     const TileConvShape& behind)
    : problem_(problem) {
  const float* bias = floats_or_null(stage.bias);
  if (algorithm != ConvKernels::tiles) {
    floats_.emplace(backend, kernels, algorithm, problem, floats.data<float>(), bias);
    return;
  }
  tiles_.emplace(backend, kernels, problem, behind.images, stage.weight, bias);
  places_.emplace(backend, tiles_->shape(), behind.in_frame());
}

FramedImages::FloatFront::FloatFront(Backend& backend, const Kernels& kernels, const Tensor& images,
                                     std::int64_t n, const TileFront& front)
    : x(backend, kernels, images, n, 1),
      run(*front.floats()),
      result(backend, out_elements(front.problem())),
      rounded(backend, out_elements(front.problem())) {}

FramedImages::FramedImages(Backend& backend, const Kernels& kernels, const Tensor& x, std::int64_t n,
                           const TileFront* front, const TileConvShape& shape)
    : kernels_(kernels), front_(front), shape_(shape), x_(backend, kernels, x, n), frame_(backend, shape) {
  if (!front) return;
  if (front->tiles())
    front_frame_.emplace(backend, front->tiles()->shape());
  else
    float_front_.emplace(backend, kernels, x, n, *front);
}

const std::uint16_t* FramedImages::operator()(std::int64_t first, std::int64_t images) const {
  if (front_frame_) {
    const TileConv& conv = *front_->tiles();
    read(*front_frame_, conv.shape(), first, images);
    conv({nullptr, frame_.data(), front_->places()}, front_frame_->data(), images);
  } else if (float_front_) {
    make(*float_front_, first, images);
  } else {
    read(frame_, shape_, first, images);
  }
  return frame_.data();
}

void FramedImages::read(const TileFrame& frame, const TileConvShape& shape, std::int64_t first,
                        std::int64_t images) const {
  for (std::int64_t i = 0; i < images; ++i)
    kernels_.tiles->frame(frame.data() + i * shape.in_frame().image_pitch, x_(first + i), shape);
}

void FramedImages::make(const FloatFront& front, std::int64_t first, std::int64_t images) const {
  for (std::int64_t i = 0; i < images; ++i) {
    front.run(front.result.data(), front.x(first + i, 1), 1);
    kernels_.to_bfloat16(front.rounded.data(), front.result.data(), shape_.h * shape_.w * shape_.c);
    kernels_.tiles->frame(frame_.data() + i * shape_.in_frame().image_pitch, front.rounded.data(), shape_);
  }
}

}  // namespace ronde::inline v0
