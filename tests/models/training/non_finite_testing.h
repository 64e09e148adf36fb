/// Trainings with numbers that are none, for the tests of what becomes of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/regression_loss.h>

#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test::non_finite {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t kBatch = 6;

/// `samples` rows (3,) with numbers as targets; the values of one row of the inputs may be bad.
inline InMemoryDataset rows(std::int64_t samples, std::int64_t bad_sample = -1, double bad = kNaN,
                            std::int64_t another_bad = -1) {
  std::vector<double> inputs, targets;
  for (std::int64_t i = 0; i < samples; ++i) {
    for (int k = 0; k < 3; ++k)
      inputs.push_back(i == bad_sample || i == another_bad ? bad
                                                           : std::sin(0.7 * static_cast<double>(i) + k));
    targets.push_back(std::cos(static_cast<double>(i)));
  }
  return {Tensor::from<double>({samples, 3}, inputs, &backend("cpu")),
          Tensor::from<double>({samples, 1}, targets, &backend("cpu"))};
}

struct Ways {
  const char* name;
  DistributedOptions distributed = {};
  bool deterministic = false;
};

inline Model make_model(Communicator& world, const DistributedOptions& distributed = {},
                        std::unique_ptr<Loss> loss = std::make_unique<MeanSquaredError>()) {
  Model model(std::make_unique<Sequential>(BatchNormalization(), Dense({.units = 1})), {3},
              {.communicator = &world, .dtype = DType::f64, .backend = &backend("cpu")});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.05}),
                 .loss = std::move(loss),
                 .distributed = distributed});
  return model;
}

inline FitOptions options(NonFiniteAction action) {
  return {.global_batch_size = kBatch,
          .epochs = 1,
          .shuffle = false,
          .non_finite = {.action = action, .limit = 3},
          .verbose = 0};
}

inline const std::vector<Ways> kWays{{"plain"},
                                     {"deterministic", {}, true},
                                     {"sharded", {.state = StateLayout::sharded}},
                                     {"half", {.compression = compression::Bf16{}}},
                                     {"local steps", {.local_steps = {.period = 4}}},
                                     {"top k", {.compression = compression::TopK{.ratio = 0.5}}}};

/// The weights and statistics after a fit of `data` on `ranks` ranks, the loss, and the warnings.
struct Outcome {
  std::string weights;
  double loss = 0.0;
  std::vector<std::string> warnings;
};

inline Outcome train(int ranks, const InMemoryDataset& data, const Ways& way, const FitOptions& fit_options) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  test::run_ranks(ranks, [&](Communicator& world) {
    Model model = make_model(world, way.distributed);
    FitOptions fit = fit_options;
    fit.deterministic = way.deterministic;
    Outcome& outcome = outcomes[static_cast<std::size_t>(world.rank())];
    fit.warn = [&](const std::string& text) { outcome.warnings.push_back(text); };
    outcome.loss = model.fit(data, fit).values.at("loss").back();
    outcome.weights = model.weights_sha256();
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.weights, outcomes[0].weights) << way.name;
  return outcomes[0];
}

}  // namespace ronde::test::non_finite
