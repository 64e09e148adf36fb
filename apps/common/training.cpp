#include "common/training.h"

#include <algorithm>
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/models/model.h>

#include "common/banner.h"
#include "common/callbacks.h"
#include "common/output_directories.h"
#include "common/report_writer.h"

namespace ronde::apps {
namespace {

constexpr std::int64_t kTestBatch = 128;

Report describe(const Communicator& world, const TrainOptions& options, const Recipe& recipe,
                const TrainPlan& plan, const std::string& program) {
  Report report;
  report.program = program;
  report.recipe = recipe.name;
  report.world_size = world.size();
  report.threads = default_backend().threads().size();
  report.device = default_backend().device().type == DeviceType::cuda ? "cuda" : "cpu";
  report.precision = options.precision;
  report.seed = options.seed;
  report.global_batch = plan.global_batch;
  return report;
}

std::string ranks_line(const Communicator& world, int threads) {
  const std::string nodes = world.cross_size() == 1 ? "" : cat(" on ", world.cross_size(), " nodes");
  return cat(world.size(), nodes, " (", world.name(), "), ", threads,
             threads == 1 ? " thread each" : " threads each");
}

std::string epochs_line(const TrainPlan& plan) {
  const std::string steps =
      plan.steps_per_epoch > 0 ? cat(plan.steps_per_epoch, " steps") : "one pass over the data";
  return cat(plan.epochs, plan.epochs == 1 ? " epoch of " : " epochs of ", steps);
}

std::string start_banner(const Communicator& world, const Report& report, const TrainPlan& plan,
                         const TrainingJob& job) {
  return banner(cat("Ronde ", RONDE_VERSION, ": ", job.program, ", recipe ", report.recipe),
                {{"device", cat(report.device, ", backend ", default_backend().name())},
                 {"ranks", ranks_line(world, report.threads)},
                 {"precision", report.precision},
                 {"global batch", cat(plan.global_batch, " images")},
                 {"training", epochs_line(plan)},
                 {"optimizer", cat(plan.optimizer, ", learning rate ", plan.learning_rate)},
                 {"net", cat(grouped(report.parameters), " parameters")},
                 {"data", job.data_description}});
}

SamplerOptions sampling(const TrainPlan& plan, const TrainOptions& options, const Communicator& world,
                        const Dataset& train) {
  return {.size = train.size(),
          .global_batch = plan.global_batch,
          .rank = world.rank(),
          .world_size = world.size(),
          .repeat = plan.repeat,
          .seed = static_cast<std::uint64_t>(options.seed)};
}

FitOptions fit_options(const TrainPlan& plan, const TrainOptions& options, const Recipe& recipe,
                       const TrainingJob& job, std::vector<Callback*> callbacks) {
  FitOptions fit;
  fit.global_batch_size = plan.global_batch;
  fit.epochs = plan.epochs;
  fit.steps_per_epoch = plan.steps_per_epoch;
  fit.repeat = plan.repeat;
  fit.micro_batch = options.micro_batch;
  if (recipe.validate_each_epoch) fit.validation = &job.test;
  fit.validation_batch_size = kTestBatch;
  fit.callbacks = std::move(callbacks);
  fit.verbose = options.verbosity();
  return fit;
}

TestReport test(Model& model, const Dataset& data) {
  const Evaluation evaluation = model.evaluate(data, kTestBatch);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, evaluation.count));
  return {.loss = evaluation.loss_sum / count,
          .accuracy = static_cast<double>(evaluation.correct) / count,
          .correct = evaluation.correct,
          .count = evaluation.count};
}

Shape batch_shape(const Dataset& data, std::int64_t count) {
  Shape shape{count};
  for (const std::int64_t extent : data.input_shape()) shape.push_back(extent);
  return shape;
}

// The first few test images, as the net sees them and as they are.
void print_predictions(Model& model, const Dataset& data) {
  const std::int64_t count = std::min<std::int64_t>(10, data.size());
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::int64_t>(i);
  const Tensor inputs = Tensor::empty(batch_shape(data, count));
  const Tensor labels = Tensor::empty({count}, {.dtype = DType::i32});
  data.read(samples, inputs, labels);

  const std::vector<float> scores = model.predict(inputs).to_vector<float>();
  const std::vector<std::int32_t> truth = labels.to_vector<std::int32_t>();
  const std::size_t classes = scores.size() / samples.size();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(i * classes);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes));
    std::printf("Test image %zu: predicted %td with probability %.4f, is %d\n", i, best - row,
                static_cast<double>(*best), truth[i]);
  }
}

}  // namespace

void run_training(Communicator& world, const TrainOptions& options, const Recipe& recipe,
                  const TrainingJob& job) {
  const bool speaks = world.rank() == 0;
  const TrainPlan plan = make_plan(recipe, options, world.size());
  prepare_output_directories(world, options, writes_checkpoints(options, recipe, plan));

  Model model(
      recipe.make_net(), recipe.input_shape,
      {.communicator = &world, .seed = static_cast<std::uint64_t>(options.seed), .dtype = options.dtype()});
  model.compile({.optimizer = make_optimizer(plan.optimizer, plan.learning_rate),
                 .loss = std::make_unique<CategoricalCrossentropy>()});

  Report report = describe(world, options, recipe, plan, job.program);
  report.parameters = model.module().parameter_count();
  if (speaks && options.verbosity() != 0) std::fputs(start_banner(world, report, plan, job).c_str(), stdout);
  std::fflush(stdout);

  ReportWriter writer(report,
                      {.path = options.metrics_json, .sampler = sampling(plan, options, world, job.train)});
  TrainerCallbacks callbacks(options, recipe, plan);
  std::vector<Callback*> list = callbacks.list();
  list.push_back(&writer);  // last, so that it sees all logs
  try {
    model.fit(job.train, fit_options(plan, options, recipe, job, std::move(list)));
    report.checkpoint = callbacks.latest_checkpoint();
    if (callbacks.keeps_best()) model.load_weights(report.checkpoint);
    report.test = test(model, job.test);
    report.status = "finished";
    writer.write(model);
  } catch (...) {
    if (speaks) writer.write_failure();
    throw;
  }
  if (!speaks) return;
  if (recipe.prints_predictions && options.verbosity() != 0) print_predictions(model, job.test);
  std::printf("Test loss: %.4f\nTest accuracy: %.4f\n", report.test->loss, report.test->accuracy);
}

}  // namespace ronde::apps
