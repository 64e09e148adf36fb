#include <algorithm>
#include <cmath>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/nn/muon.h>

#include "optimizers/optimizer_checks.h"

namespace ronde::inline v0 {

namespace {

constexpr double kEpsilon = 1e-7;  // of norms

Shape matrix_shape(const Segment& weight) {
  return {weight.shape[0], weight.count / weight.shape[0]};
}

/// The weights that lie in a range, whole.
std::vector<const Segment*> weights_in(const ParameterArena& arena, std::int64_t begin, std::int64_t end) {
  std::vector<const Segment*> weights;
  for (const Segment& segment : arena.segments()) {
    if (segment.frozen || segment.offset + segment.count <= begin || segment.offset >= end) continue;
    require<UsageError>(segment.offset >= begin && segment.offset + segment.count <= end,
                        "[muon] the state of ", segment.name,
                        " lies on several ranks, but its update needs the whole matrix: do without sharded "
                        "state");
    require<UsageError>(segment.shape.rank() >= 2 && segment.count > 0,
                        "[muon] expects matrices and kernels, ", segment.name, " has the shape ",
                        segment.shape, ": put it into another group of OptimizerGroups");
    weights.push_back(&segment);
  }
  return weights;
}

}  // namespace

Muon::Muon(MuonOptions options)
    : Optimizer({.learning_rate = options.learning_rate, .decay = options.decay, .clip = options.clip}),
      options_(options) {
  expect_momentum("muon", options.momentum);
  require<UsageError>(options.ns_steps >= 1, "[muon] ns_steps must be at least 1, got ", options.ns_steps);
}

ConfigDict Muon::own_settings() const {
  ConfigDict settings = Optimizer::config();
  settings.emplace_back("momentum", options_.momentum);
  settings.emplace_back("nesterov", options_.nesterov);
  settings.emplace_back("ns_steps", options_.ns_steps);
  settings.emplace_back("muon_a", options_.muon_a);
  settings.emplace_back("muon_b", options_.muon_b);
  settings.emplace_back("muon_c", options_.muon_c);
  settings.emplace_back("rms_rate", options_.rms_rate);
  settings.emplace_back("normalize_weights", options_.normalize_weights);
  return settings;
}

void Muon::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  momentum_ = make_state("momentum");
  std::int64_t elements = 0, side = 0;
  for (const ArenaRange& range : part().ranges) {
    for (const Segment* weight : weights_in(arena, range.begin, range.end)) {
      const Shape shape = matrix_shape(*weight);
      elements = std::max(elements, weight->count);
      side = std::max(side, std::min(shape[0], shape[1]));
    }
  }
  const TensorOptions options = arena.values().options();
  room_ = {.update = Tensor::empty({elements}, options),
           .next = Tensor::empty({elements}, options),
           .gram = Tensor::empty({side * side}, options),
           .polynomial = Tensor::empty({side * side}, options),
           .squares = Tensor::empty({}, {.dtype = DType::f64, .backend = options.backend}),
           .factor = Tensor::empty({}, options)};
}

std::vector<OptimizerSlot> Muon::own_slots() const {
  return {{"momentum", momentum_}};
}

void Muon::update(const Slice& slice, const StepParams& step) {
  for (const Segment* weight : weights_in(arena(), slice.begin, slice.begin + slice.values.count())) {
    const std::int64_t offset = weight->offset - slice.begin;
    const Shape shape = matrix_shape(*weight);
    update_weight({slice.values.view(offset, shape), slice.gradients.view(offset, shape),
                   slice.state_offset + offset, weight->offset},
                  step);
  }
}

void Muon::update_weight(const Slice& weight, const StepParams& step) {
  const Tensor &w = weight.values, m = weight.of(momentum_);
  Backend& backend = w.backend();
  const std::int64_t rows = w.size(0), columns = w.size(1);
  Tensor u = room_.update.view(0, w.shape()), next = room_.next.view(0, w.shape());
  scale_gradients(u, weight.gradients, step);
  backend.unary(UnaryOp::affine, m, m, {.alpha = options_.momentum});
  backend.accumulate(m, u, 1.0);
  if (options_.nesterov)
    backend.accumulate(u, m, options_.momentum);
  else
    u.copy_from(m);
  if (options_.normalize_weights) scale_to_norm(w, std::sqrt(static_cast<double>(rows)));
  orthogonalize(u, next);
  const double size = options_.rms_rate > 0
                          ? options_.rms_rate * std::sqrt(static_cast<double>(std::max(rows, columns)))
                          : 1.0;
  backend.accumulate(w, u, -step.learning_rate * size);
}

// With A = X X' for a wide X and X' X for a tall one, so that A is the smaller of the two. Leaves the result
// in x, whose memory may be that of `next`.
void Muon::orthogonalize(Tensor& x, Tensor& next) const {
  Backend& backend = x.backend();
  const bool is_tall = x.size(0) > x.size(1);
  const std::int64_t side = std::min(x.size(0), x.size(1));
  const Tensor gram = room_.gram.view(0, {side, side}), polynomial = room_.polynomial.view(0, {side, side});
  scale_to_norm(x, 1.0);
  for (int i = 0; i < options_.ns_steps; ++i) {
    backend.matmul(gram, x, x, {.transpose_a = is_tall, .transpose_b = !is_tall});
    backend.matmul(polynomial, gram, gram, {});
    backend.unary(UnaryOp::affine, polynomial, polynomial, {.alpha = options_.muon_c});
    backend.accumulate(polynomial, gram, options_.muon_b);
    backend.matmul(next, is_tall ? x : polynomial, is_tall ? polynomial : x, {});
    backend.accumulate(next, x, options_.muon_a);
    std::swap(x, next);
  }
}

// Without a look at the norm here, which a device would have to be waited for.
void Muon::scale_to_norm(const Tensor& x, double norm) const {
  Backend& backend = x.backend();
  backend.sum_of_squares(room_.squares, x);
  room_.factor.copy_from(room_.squares);
  backend.unary(UnaryOp::sqrt, room_.factor, room_.factor, {});
  backend.unary(UnaryOp::affine, room_.factor, room_.factor, {.alpha = 1.0 / norm, .beta = kEpsilon / norm});
  backend.binary(BinaryOp::divide, x, x, room_.factor.broadcast_to(x.shape()));
}

}  // namespace ronde::inline v0
