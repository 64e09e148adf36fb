#include <ronde/nn/conv2d.h>

#include <algorithm>

#include "nn/relu_nets.h"
#include "support/counting_backend.h"

namespace ronde::test {
namespace {

/// Of a class that no run takes in.
class OwnAdd : public Add {};

using Build = Symbol (*)(Graph&, const Symbol&);

template <class Sum>
Symbol first_part_with_relu(Graph& net, const Symbol& x) {
  return net.add(ReLU(), net.add(Sum(), {net.add(BatchNormalization(), x), x}));
}
template <class Sum>
Symbol second_part(Graph& net, const Symbol& x) {
  return net.add(Sum(), {x, net.add(BatchNormalization({.scale = false}), x)});
}
template <class Sum>
Symbol two_blocks(Graph& net, const Symbol& x) {
  const Symbol y = net.add(Activation(Activation::relu), second_part<Sum>(net, x));
  return net.add(BatchNormalization(), first_part_with_relu<Sum>(net, y));
}
/// Behind a sum there may be another one, or no relu.
template <class Sum>
Symbol sum_of_a_sum(Graph& net, const Symbol& x) {
  const Symbol other = net.add(ReLU(), x);
  const Symbol sum = net.add(Sum(), {net.add(BatchNormalization(), x), x});
  return net.add(Sum(), {sum, other});
}
template <class Sum>
Symbol with_silu(Graph& net, const Symbol& x) {
  return net.add(Activation(Activation::silu), second_part<Sum>(net, x));
}
/// What is no run: something else takes the normalisation or the sum, too.
template <class Sum>
Symbol shared(Graph& net, const Symbol& x) {
  const Symbol norm = net.add(BatchNormalization(), x);
  const Symbol y = net.add(ReLU(), net.add(Sum(), {norm, x}));
  const Symbol sum = net.add(Sum(), {net.add(BatchNormalization(), y), norm});
  return net.add(Add(), {net.add(ReLU(), sum), sum});
}
/// A normalisation that is added to itself, a sum of three, and another join.
template <class Sum>
Symbol other_sums(Graph& net, const Symbol& x) {
  const Symbol norm = net.add(BatchNormalization(), x);
  const Symbol twice = net.add(Sum(), {norm, norm});
  const Symbol y = net.add(Sum(), {twice, net.add(BatchNormalization(), twice), x});
  return net.add(Multiply(), {y, net.add(BatchNormalization(), y)});
}
template <class Sum>
Symbol stretched(Graph& net, const Symbol& x) {
  const Symbol narrow = net.add(Conv2D({.filters = 1, .kernel = {1, 1}}), x);
  return net.add(ReLU(), net.add(Sum(), {x, net.add(BatchNormalization(), narrow)}));
}

template <class Sum>
std::vector<Build> builds() {
  return {first_part_with_relu<Sum>, second_part<Sum>, two_blocks<Sum>,
          sum_of_a_sum<Sum>,         with_silu<Sum>,   shared<Sum>,
          other_sums<Sum>,           stretched<Sum>};
}

std::vector<double> residual_numbers(Build build, const BuildOptions& options, std::int64_t channels) {
  Graph net;
  net.output(build(net, net.input()));
  return numbers_of(net, options, channels);
}

TEST(NormRunWithAdd, GivesTheBitsOfItsLayers) {
  const std::vector<Build> runs = builds<Add>(), layers = builds<OwnAdd>();
  for (const Backend* each : backends())
    for (const DType dtype : {DType::f32, DType::f64})
      for (const std::int64_t channels : {5, 32})
        for (std::size_t i = 0; i < runs.size(); ++i) {
          SCOPED_TRACE(cat(each->name(), ' ', dtype, ", ", channels, " channels, net ", i));
          const BuildOptions options{.dtype = dtype, .backend = &backend(each->name())};
          EXPECT_EQ(residual_numbers(runs[i], options, channels),
                    residual_numbers(layers[i], options, channels));
        }
}

TEST(NormRunWithAdd, IsOneWhereNothingElseTakesItsParts) {
  using Names = std::set<std::string>;
  const auto joined = [](Build build) {
    Graph net;
    net.output(build(net, net.input()));
    net.build({3, 3, 16});
    Names names;
    for (const std::string& name : names_of_calls(net, Tensor::full({2, 3, 3, 16}, 1), true))
      if (name.find(" + ") != std::string::npos) names.insert(name);
    return names;
  };
  EXPECT_EQ(joined(first_part_with_relu<Add>), (Names{"batch_normalization + add + re_lu"}));
  EXPECT_EQ(joined(second_part<Add>), (Names{"batch_normalization + add"}));
  EXPECT_EQ(joined(two_blocks<Add>),
            (Names{"batch_normalization + add + activation", "batch_normalization_1 + add_1 + re_lu"}));
  EXPECT_EQ(joined(sum_of_a_sum<Add>), (Names{"batch_normalization + add"}));
  EXPECT_EQ(joined(with_silu<Add>), (Names{"batch_normalization + add"}));
  EXPECT_EQ(joined(shared<Add>), (Names{"add + re_lu", "batch_normalization_1 + add_1"}));
  EXPECT_EQ(joined(other_sums<Add>), Names{});
  EXPECT_EQ(joined(stretched<Add>), (Names{"add + re_lu"}));
}

// In bfloat16 kernels may round once where these round twice.
TEST(NormRunWithAdd, IsNearItsLayersInBfloat16) {
  for (const Backend* each : backends()) {
    const BuildOptions options{
        .dtype = DType::f32, .backend = &backend(each->name()), .compute_dtype = DType::bf16};
    const std::vector<double> once = residual_numbers(two_blocks<Add>, options, 5),
                              twice = residual_numbers(two_blocks<OwnAdd>, options, 5);
    ASSERT_EQ(once.size(), twice.size());
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      largest = std::max(largest, std::abs(twice[i]));
      difference = std::max(difference, std::abs(once[i] - twice[i]));
    }
    EXPECT_LT(difference, 0.1 * largest) << each->name();
  }
}

TEST(NormRunWithAdd, LetsGoOfWhatNobodyNeeds) {
  const auto most_of = [](int blocks) {
    CountingBackend backend;
    Graph net;
    Symbol y = net.input();
    for (int i = 0; i < blocks; ++i) y = first_part_with_relu<Add>(net, y);
    net.output(y);
    net.build({1000}, {.dtype = DType::f64, .backend = &backend});
    const Tensor x = Tensor::full({100, 1000}, 1, {.dtype = DType::f64, .backend = &backend});
    const NoGrad nothing_is_kept;
    net(x, {.training = true});
    return backend.most;
  };
  constexpr std::size_t kResult = 100 * 1000 * sizeof(double);
  EXPECT_LT(most_of(8), most_of(3) + kResult);
}

TEST(NormRunWithAdd, TakesABatchWithoutSamples) {
  Graph net;
  net.output(two_blocks<Add>(net, net.input()));
  net.build({2, 2, 3});
  EXPECT_EQ(net(Tensor::zeros({0, 2, 2, 3}), {.training = true}).shape(), (Shape{0, 2, 2, 3}));
}

}  // namespace
}  // namespace ronde::test
