// Updates by several batches on the fake device, whose first one is repeated as a graph.
#include <ronde/nn/sgd.h>

#include "cuda/digits.h"

namespace ronde::test {
namespace {

/// Losses and weights of a training whose steps are long enough for a wrong gradient to be seen.
Values trained(Module& net, Backend& backend, SGDOptions sgd, FitOptions fit) {
  Model model(net, {8, 8, 1}, {.seed = 3, .backend = &backend});
  model.compile(
      {.optimizer = std::make_unique<SGD>(sgd), .loss = std::make_unique<CategoricalCrossentropy>()});
  fit.verbose = 0;
  Values all = model.fit(digits(), fit).values.at("loss");
  for (const double value : model.arena().values().to_vector<double>()) all.push_back(value);
  return all;
}

template <class MakeNet>
void expect_those_of_the_cpu(const MakeNet& make_net, const SGDOptions& sgd, const FitOptions& fit) {
  FakeDevice device({.seed = 7});
  const auto of_cpu = make_net(), of_gpu = make_net();
  const Values expected = trained(*of_cpu, backend("cpu"), sgd, fit);
  expect_near(trained(*of_gpu, device.backend, sgd, fit), expected, 1e-5);
  EXPECT_GE(device.runtime.replays(), 4);
}

// What the graph has computed is what the next batch adds to. Of 5 batches the last ones are fewer.
TEST(CudaAccumulation, BatchesBehindARepetitionAddToIt) {
  for (const std::int64_t passes : {2, 3})
    expect_those_of_the_cpu(digits_net, {.learning_rate = 0.05, .momentum = 0.5},
                            {.batch_size = 8, .epochs = 4, .backward_passes_per_step = passes});
}

/// Has weights that no training reaches.
struct HalfUsed : Module {
  Flatten flatten;
  Dense classes{{.units = 4, .activation = Activation::softmax}};
  Dense unused{{.units = 3, .kernel_regularizer = Regularizer::l1_l2(0.02, 0.2)}};
  HalfUsed() { add_module("flatten", flatten), add_module("classes", classes), add_module("unused", unused); }
  void build_weights(const Shape&, const BuildOptions& options) override { unused.build({5}, options); }
  Variable forward(const Variable& x, const Context& context) override {
    return classes(flatten(x, context), context);
  }
  bool is_repeatable() const override { return true; }
};

// An update adds what its weights are decayed by to their gradients, in place: to zero, each time.
TEST(CudaAccumulation, WeightsThatNothingReachesDecayByTheirPenaltiesAlone) {
  const auto half_used = [] { return std::make_unique<HalfUsed>(); };
  expect_those_of_the_cpu(half_used, {.learning_rate = 0.05, .clip = {.global_norm = 1.0}},
                          {.batch_size = 8, .epochs = 2});
  expect_those_of_the_cpu(half_used, {.learning_rate = 0.05, .l2 = 0.1},
                          {.batch_size = 8, .epochs = 4, .backward_passes_per_step = 2});
}

}  // namespace
}  // namespace ronde::test
