// Group normalisation by the kernels of batch normalisation, to which each channel of each sample is one of
// its own: a group's statistics follow from those of its channels, and its gradient differs from theirs by a
// normalisation of x with another gamma and beta, as it does between ranks (synchronized_statistics.cpp). Of
// few positions the numbers of a channel cost more than its values: then a group is a row of a layer norm.
#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/node.h>
#include <ronde/core/ops.h>

#include "ops/checks.h"
#include "ops/in_f32.h"

namespace ronde::inline v0 {
namespace {

constexpr std::int64_t kFewPositions = 64;

// Some samples of tensors (n, positions, c) as rows (positions, samples * c).
class SampleRows {
 public:
  SampleRows(std::int64_t first, std::int64_t samples) : first_(first), samples_(samples) {}

  /// A view of one sample, a copy of several.
  Tensor of(const Tensor& x) const {
    return samples_ == 1 ? view(x) : turned(part(x)).clone().reshape(rows(x));
  }
  /// Where what becomes samples of y is written: there, if it is one.
  Tensor room(const Tensor& y) const { return samples_ == 1 ? view(y) : Tensor::empty(rows(y), y.options()); }
  void keep(const Tensor& y, const Tensor& room) const {
    if (samples_ == 1) return;
    const Tensor samples = turned(part(y));
    samples.copy_from(room.reshape(samples.shape()));
  }
  /// Of (n, c), or undefined.
  Tensor channels(const Tensor& numbers) const {
    if (!numbers.defined()) return {};
    return numbers.view(first_ * numbers.size(1), {samples_ * numbers.size(1)});
  }

 private:
  Tensor part(const Tensor& x) const { return x.slice(0, first_, first_ + samples_); }
  Tensor view(const Tensor& x) const { return part(x).reshape(rows(x)); }
  Shape rows(const Tensor& x) const { return {x.size(1), samples_ * x.size(2)}; }
  static Tensor turned(const Tensor& x) { return x.permute({1, 0, 2}); }

  std::int64_t first_, samples_;
};

// All samples of x (n, positions, c), as many at a time as are worth a call: on a CPU they stay in its cache.
template <class F>
void for_samples(const Tensor& x, const F& f) {
  if (x.count() == 0) return;
  const std::int64_t least = x.backend().device().type == DeviceType::cpu ? 1 << 16 : 1 << 24;
  const std::int64_t samples = x.size(0), at_once = std::max<std::int64_t>(least * samples / x.count(), 1);
  for (std::int64_t first = 0; first < samples; first += at_once)
    f(SampleRows(first, std::min(at_once, samples - first)));
}

// Numbers (n, c), each replaced by the mean of those of its group.
Variable group_means(const Variable& numbers, std::int64_t groups) {
  const std::int64_t samples = numbers.size(0), width = numbers.size(1) / groups;
  const Shape shape{samples, groups, width};
  const Variable means = mean(reshape(numbers, shape), {.axes = {2}, .keep_dims = true});
  return reshape(broadcast_to(means, shape), numbers.shape());
}

struct GroupNormNode final : Node {
  Tensor x;               // (n, positions, c)
  Tensor mean, variance;  // (n, c), of the group
  Tensor gamma;           // (n, c), or undefined
  GroupNormParams params;

  const char* name() const override { return "group_norm"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    const Tensor grad = grad_out.contiguous().reshape(x.shape());
    const bool are_channels = params.groups == x.size(2);
    const Tensor grad_x = grads.wanted(0) ? grads.out(0).reshape(x.shape()) : Tensor();
    const Tensor of_channels = are_channels && grad_x.defined() ? grad_x : Tensor::empty_like(x);
    const Tensor sums = Tensor::zeros(mean.shape(), mean.options()), products = sums.clone();
    for_samples(x, [&](const SampleRows& rows) {
      const Tensor room = rows.room(of_channels);
      x.backend().batch_norm_backward(room, rows.channels(products), rows.channels(sums), rows.of(grad),
                                      rows.of(x), rows.channels(mean), rows.channels(variance),
                                      rows.channels(gamma), {.epsilon = params.epsilon});
      rows.keep(of_channels, room);
    });
    if (grads.wanted(1)) sum_samples(grads.out(1), products);
    if (grads.wanted(2)) sum_samples(grads.out(2), sums);
    if (grad_x.defined() && !are_channels) go_through_groups(grad_x, of_channels, sums, products);
  }

 private:
  static void sum_samples(const Tensor& to, const Tensor& numbers) {
    numbers.backend().reduce(ReduceOp::sum, to.reshape({1, numbers.size(1)}), numbers);
  }

  // With x^ the normalised x, grad_x = (gamma * grad - m - x^ * s) / deviation, where m is the mean of gamma
  // * grad and s that of gamma * grad * x^: of a channel's values in `of_channels`, of a group's here.
  void go_through_groups(const Tensor& grad_x, const Tensor& of_channels, const Tensor& sums,
                         const Tensor& products) const {
    const Variable inverse = pow(variance + params.epsilon, -0.5) * (1.0 / static_cast<double>(x.size(1)));
    const auto missing = [&](const Tensor& numbers) {
      const Variable scaled = gamma.defined() ? numbers * gamma : Variable(numbers);
      return ((scaled - group_means(scaled, params.groups)) * inverse).value();
    };
    const Tensor slope = missing(products), shift = missing(sums);
    for_samples(x, [&](const SampleRows& rows) {
      const Tensor room = rows.room(grad_x);
      x.backend().batch_norm_add(room, rows.of(x),
                                 {rows.channels(mean),
                                  rows.channels(variance),
                                  rows.channels(slope),
                                  rows.channels(shift),
                                  {.epsilon = params.epsilon}},
                                 rows.of(of_channels));
      rows.keep(grad_x, room);
    });
  }
};

// Of each sample (n, c), dense.
Tensor repeated(const Variable& weight, std::int64_t samples) {
  if (!weight.defined()) return {};
  return weight.value().broadcast_to({samples, weight.size(0)}).clone();
}

// Of x (n, positions, c), and of its groups in each channel (n, c).
BatchStatistics group_statistics(const Tensor& x, std::int64_t groups) {
  const NoGrad constant;
  const Tensor mean = Tensor::zeros({x.size(0), x.size(2)}, x.options()), variance = mean.clone();
  for_samples(x, [&](const SampleRows& rows) {
    x.backend().batch_statistics(rows.channels(mean), rows.channels(variance), rows.of(x));
  });
  const Variable center = group_means(mean, groups);
  return {center.value().contiguous(),
          group_means(variance + square(mean - center), groups).value().contiguous(), x.size(1)};
}

// x (n, positions, c). A group's channels lie behind one another in a transposed copy.
Variable norm_of_rows(const Variable& x, const GroupNormParams& params) {
  const std::int64_t samples = x.size(0), positions = x.size(1), channels = x.size(2);
  const Variable columns = permute(x, {0, 2, 1});
  const Variable rows = reshape(columns, {samples, params.groups, channels / params.groups * positions});
  const Variable y = layer_norm(rows, {}, {}, {.epsilon = params.epsilon});
  return permute(reshape(y, columns.shape()), {0, 2, 1});
}

}  // namespace

Variable group_norm(const Variable& x, const Variable& gamma, const Variable& beta, GroupNormParams params) {
  require_floating("group_norm", x.value());
  require(x.rank() > 1, "[group_norm] input must be (n, ..., c), got shape ", x.shape());
  require(params.groups > 0 && x.size(-1) % params.groups == 0, "[group_norm] ", x.size(-1),
          " channels cannot be split into ", params.groups, " groups");
  if (gamma.defined()) require_per_channel("group_norm", "gamma", x.value(), gamma.value());
  if (beta.defined()) require_per_channel("group_norm", "beta", x.value(), beta.value());
  if (x.dtype() == DType::bf16)
    return cast(group_norm(in_f32(x), in_f32(gamma), in_f32(beta), params), DType::bf16);
  const std::int64_t samples = x.size(0);
  std::int64_t positions = 1;
  for (int axis = 1; axis + 1 < x.rank(); ++axis) positions *= x.size(axis);
  const Shape shape{samples, positions, x.size(-1)};
  if (positions < kFewPositions) {
    Variable y = reshape(norm_of_rows(reshape(x, shape), params), x.shape());
    if (gamma.defined()) y = y * gamma;
    return beta.defined() ? y + beta : y;
  }
  const Tensor input = x.value().contiguous().reshape(shape);
  const BatchStatistics statistics = group_statistics(input, params.groups);
  const Tensor y = Tensor::empty_like(input), scale = repeated(gamma, samples),
               shift = repeated(beta, samples);
  for_samples(input, [&](const SampleRows& rows) {
    const Tensor room = rows.room(y);
    input.backend().batch_norm(room, rows.of(input), rows.channels(statistics.mean),
                               rows.channels(statistics.variance), rows.channels(scale), rows.channels(shift),
                               {.epsilon = params.epsilon});
    rows.keep(y, room);
  });
  const Tensor out = y.reshape(x.shape());
  if (!Node::needed({x, gamma, beta})) return out;
  auto node = std::make_shared<GroupNormNode>();
  node->x = input;
  node->mean = statistics.mean;
  node->variance = statistics.variance;
  node->gamma = scale;
  node->params = params;
  return Node::record(std::move(node), {x, gamma, beta}, out);
}

}  // namespace ronde::inline v0
