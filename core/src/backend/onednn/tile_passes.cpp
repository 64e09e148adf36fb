#include "backend/onednn/tile_passes.h"

#include <algorithm>

namespace ronde::inline v0 {

TileConv::TileConv(Backend& backend, const Kernels& kernels, const ConvProblem& problem, const float* weight,
                   const float* bias)
    : tiles_(*kernels.tiles),
      shape_(tile_shape(problem)),
      bias_(bias),
      epilogue_(problem.relu ? Epilogue::relu : Epilogue::none),
      weights_(backend, shape_.weight_elements()) {
  const Scratch<float> by_tap(backend, problem.kh * problem.kw * problem.c * problem.o);
  filters_by_tap(by_tap.data(), weight, problem);
  tiles_.conv_weights(weights_.data(), by_tap.data(), shape_);
}

TileFrame::TileFrame(Backend& backend, const TileConvShape& shape)
    : elements_(backend, shape.frame_elements()) {
  std::fill_n(elements_.data(), shape.frame_elements(), std::uint16_t{0});
}

PlaceTable::PlaceTable(Backend& backend, const TileConvShape& numbering, const PixelPlaces& places,
                       std::optional<std::int64_t> thrown_away)
    : places_(backend, numbering.pixels()) {
  const std::int64_t width = numbering.frame_w();
  for (std::int64_t pixel = 0; pixel < numbering.pixels(); ++pixel) {
    const std::int64_t row = pixel / width, column = pixel % width;
    const bool has_result = pixel < numbering.used_pixels() && column < numbering.ow;
    const std::int64_t place =
        places.first + (has_result ? row * places.row_pitch + column * places.pixel_pitch
                                   : (row + 1) * places.row_pitch);
    places_.data()[pixel] = static_cast<std::int32_t>(has_result ? place : thrown_away.value_or(place));
  }
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

TileFront::TileFront(Backend& backend, const Kernels& kernels, ConvKernels algorithm,
                     const ConvProblem& problem, const float* weight, const float* bias)
    : problem_(problem) {
  if (algorithm == ConvKernels::tiles)
    tiles_.emplace(backend, kernels, problem, weight, bias);
  else
    floats_.emplace(backend, kernels, algorithm, problem, weight, bias);
}

FramedImages::FloatFront::FloatFront(Backend& backend, const Kernels& kernels, const Tensor& images,
                                     std::int64_t n, const TileFront& front)
    : x(backend, kernels, images, n, 1),
      run(*front.floats()),
      result(backend, out_elements(front.problem())),
      rounded(backend, out_elements(front.problem())) {}

FramedImages::FrameFront::FrameFront(Backend& backend, const TileConv& front, const TileConvShape& behind)
    : conv(front), frame(backend, front.shape()), places(backend, front.shape(), behind.in_frame()) {}

FramedImages::FramedImages(Backend& backend, const Kernels& kernels, const Tensor& x, std::int64_t n,
                           const TileFront* front, const TileConvShape& shape)
    : kernels_(kernels), shape_(shape), x_(backend, kernels, x, n), frame_(backend, shape) {
  if (!front) return;
  if (front->tiles())
    frame_front_.emplace(backend, *front->tiles(), shape);
  else
    float_front_.emplace(backend, kernels, x, n, *front);
}

const std::uint16_t* FramedImages::operator()(std::int64_t image) const {
  if (frame_front_)
    make(*frame_front_, image);
  else if (float_front_)
    make(*float_front_, image);
  else
    kernels_.tiles->frame(frame_.data(), x_(image), shape_);
  return frame_.data();
}

void FramedImages::make(const FloatFront& front, std::int64_t image) const {
  front.run(front.result.data(), front.x(image, 1), 1);
  kernels_.to_bfloat16(front.rounded.data(), front.result.data(), shape_.h * shape_.w * shape_.c);
  kernels_.tiles->frame(frame_.data(), front.rounded.data(), shape_);
}

void FramedImages::make(const FrameFront& front, std::int64_t image) const {
  kernels_.tiles->frame(front.frame.data(), x_(image), front.conv.shape());
  front.conv({nullptr, frame_.data(), front.places.data()}, front.frame.data());
}

}  // namespace ronde::inline v0
