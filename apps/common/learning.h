/// Learning: the part of a run in which weights change, by `fit` or, where the recipe says so, by
/// train_and_evaluate.
#pragma once

#include <optional>
#include <string>

#include <ronde/data/sampler.h>
#include <ronde/models/model.h>

#include "common/report_writer.h"
#include "common/resume.h"
#include "common/run_clock.h"
#include "common/training.h"

namespace ronde::apps {

/// Of a rank.
constexpr std::int64_t kTestBatch = 128;

/// What it leaves behind.
struct Learned {
  std::string checkpoint;                ///< written last, or gone on from; empty: none
  bool keeps_best = false;               ///< it, not the model, has the weights to be tested
  std::optional<Evaluation> evaluation;  ///< on the test data, if the final weights have had one
};

/// Collective. `model` is compiled, and has the state of the file of `start`, if there is one. The writer
/// sees all logs; the clock gets what evaluations and checkpoints took.
Learned learn(Model& model, const TrainingJob& job, const RunStart& start, ReportWriter& writer,
              RunClock& clock);

/// As `fit` will sample.
SamplerOptions sampling(const TrainingJob& job, const Communicator& world);

}  // namespace ronde::apps
