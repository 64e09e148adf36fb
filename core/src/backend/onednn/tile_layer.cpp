// Layers whose convolution is made of tiles: Note [Tiles] in tile_conv2d.cpp.
#include "backend/onednn/backend.h"
#include "backend/onednn/dropout_mask.h"
#include "backend/onednn/float_rows.h"
#include "backend/onednn/pool_shape.h"
#include "backend/onednn/tile_passes.h"

namespace ronde::inline v0 {

namespace {

// What one thread does for a layer forward.
class TileForward {
 public:
  // `front` may be null.
  TileForward(Backend& backend, const Kernels& kernels, const Conv2dLayer& layer, const ConvProblem& p,
              const TileFront* front, const TileConv& conv, const PlaceTable& places)
      : kernels_(kernels),
        layer_(layer),
        images_(conv.shape().images),
        whole_elements_(out_elements(p)),
        pool_(pool_shape(out_shape(p), layer.out.shape(), layer.pool)),
        mask_(layer.sample_keys.defined() ? DropoutMask::make(layer.dropout) : std::nullopt),
        conv_(conv),
        x_(backend, kernels, layer.x, p.n, front, conv.shape()),
        places_(places),
        whole_(backend, layer.argmax.defined() ? images_ * whole_elements_ : 0),
        out_(backend, kernels, layer.out, p.n, images_) {}

  void operator()(std::int64_t begin, std::int64_t end) const {
    in_pieces(begin, end, images_, [&](std::int64_t first, std::int64_t images) { run(first, images); });
  }

 private:
  void run(std::int64_t first, std::int64_t images) const {
    const std::uint16_t* frame = x_(first, images);
    if (is_bfloat16(layer_.out) && !layer_.argmax.defined() && !mask_)
      return conv_({nullptr, bits_of(layer_.out) + first * out_.elements(), places_.data()}, frame, images);
    float* out = out_.room(first);
    conv_({layer_.argmax.defined() ? whole_.data() : out, nullptr, places_.data()}, frame, images);
    for (std::int64_t i = 0; i < images; ++i)
      finish(first + i, out + i * out_.elements(), whole_.data() + i * whole_elements_);
    out_.keep(first, images);
  }

  // Pooling and dropout of an image, whose whole result is given if it is pooled.
  void finish(std::int64_t image, float* out, const float* whole) const {
    if (layer_.argmax.defined())
      kernels_.max_pool(out, argmax_of(layer_.argmax, image, out_.elements()), whole, pool_);
    if (mask_)
      mask_->apply(kernels_, out, out, out_.elements(), layer_.sample_keys.data<std::int64_t>() + 2 * image);
  }

  const Kernels& kernels_;
  const Conv2dLayer& layer_;
  std::int64_t images_, whole_elements_;
  PoolShape pool_;
  std::optional<DropoutMask> mask_;
  const TileConv& conv_;
  FramedImages x_;
  const PlaceTable& places_;
  Scratch<float> whole_;
  WrittenRows out_;
};

}  // namespace

void OneDnnBackend::run_tiles(const Conv2dLayer& layer, const OwnForward& plan, const Tensor& front_floats) {
  const std::int64_t n = plan.problem.n, images = images_in_frame(*this, plan.problem);
  const TileConv conv(*this, kernels_, plan.problem, images, layer.conv.weight, floats_or_null(layer.conv.bias));
  const PlaceTable places(*this, conv.shape(), conv.shape().dense_result());
  std::optional<TileFront> front;
  if (plan.front)
    front.emplace(*this, kernels_, *plan.front, plan.front_problem, *layer.front, front_floats, conv.shape());
  threads().parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    TileForward(*this, kernels_, layer, plan.problem, front ? &*front : nullptr, conv, places)(begin, end);
  });
}

}  // namespace ronde::inline v0
