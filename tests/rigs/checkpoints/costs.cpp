// What safety costs a training of the MNIST net: the pause for a checkpoint, which is encoded and written
// beside the training; the look for NaN at each step; the hash that replicas compare.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/file_io.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/nn/adadelta.h>

#include "keras_file/decode.h"
#include "keras_file/limited_reader.h"
#include "rigs/checkpoints/rigs.h"
#include "support/temp_dir.h"
#include "training/hash64.h"

namespace ronde::rigs {
namespace {

constexpr std::int64_t kSteps = 60, kBatch = 128;
constexpr double kMostPause = 0.015;

double processor_seconds(clockid_t whose = CLOCK_PROCESS_CPUTIME_ID) {
  timespec time{};
  ::clock_gettime(whose, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

/// Processor time of a call.
template <class F>
double seconds_of(F&& f) {
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    const double begin = processor_seconds();
    f();
    seconds.push_back(processor_seconds() - begin);
  }
  return median(seconds);
}

struct Training {
  std::vector<double> steps;    // processor seconds
  std::vector<double> pauses;   // seconds
  std::vector<double> between;  // two steps, with a save: processor seconds of the training's thread
};

Training train(Model& model, const std::string& directory) {
  const InMemoryDataset data(Tensor::zeros({kSteps * kBatch, 28, 28, 1}),
                             Tensor::zeros({kSteps * kBatch}, {.dtype = DType::i32}));
  ModelCheckpoint files({.filepath = directory + "/{batch}.h5", .save_steps = 10, .keep = 2});
  Training training;
  double begin = 0.0, end = 0.0, paused = 0.0;
  LambdaCallback watch({.on_train_batch_begin =
                            [&](std::int64_t batch) {
                              begin = processor_seconds();
                              if (batch > 0 && batch % 10 == 0)
                                training.between.push_back(processor_seconds(CLOCK_THREAD_CPUTIME_ID) - end);
                            },
                        .on_train_batch_end =
                            [&](std::int64_t batch, const Logs&) {
                              training.steps.push_back(processor_seconds() - begin);
                              if (files.total_pause_seconds() > paused)
                                training.pauses.push_back(files.last_pause_seconds());
                              paused = files.total_pause_seconds();
                              if (batch % 10 == 8)
                                ::usleep(500'000);  // as between saves that are seconds apart
                              end = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
                            }});
  model.fit(data, {.batch_size = kBatch, .callbacks = {&watch, &files}, .verbose = 0});
  return training;
}

/// Of this process and its children that have ended.
double seconds_with_children() {
  rusage own{}, children{};
  ::getrusage(RUSAGE_SELF, &own);
  ::getrusage(RUSAGE_CHILDREN, &children);
  double seconds = 0.0;
  for (const timeval& time : {own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime})
    seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  return seconds;
}

/// A file without its SHA-256, as from Keras, read here and in a process of its own.
void measure_reading(const std::string& file) {
  const std::string bytes = read_file(file);
  const std::string_view image = std::string_view(bytes).substr(0, bytes.find("\nronde-"));
  std::vector<double> here, there, waited;
  for (int i = 0; i < 21; ++i) {
    const double begin = seconds_with_children();
    decode_hdf5(image);
    const double between = seconds_with_children();
    const auto since = std::chrono::steady_clock::now();
    decode_in_child(std::string(image));
    waited.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
    here.push_back(between - begin);
    there.push_back(seconds_with_children() - between);
  }
  std::printf(
      "  %.1f MB without a SHA-256 read in %.1f ms of a processor, in a process of its own %.1f ms (%.1f ms "
      "passed)\n",
      1e-6 * static_cast<double>(image.size()), 1e3 * median(here), 1e3 * median(there),
      1e3 * median(waited));
}

void print_share(const char* what, double seconds, double step, double every) {
  std::printf("  %-40s %6.2f ms  %.3f %% of the steps when made every %g\n", what, 1e3 * seconds,
              100.0 * seconds / (every * step), every);
}

}  // namespace

bool measure_costs() {
  for (Backend* backend : backends()) backend->threads().resize(1);
  const test::TempDir dir;
  Model model(mnist_cnn(), {28, 28, 1}, {});
  model.compile(
      {.optimizer = std::make_unique<Adadelta>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  Training training = train(model, dir.path());
  for (std::vector<double>* some : {&training.pauses, &training.between})
    std::sort(some->begin(), some->end());
  const double step = median(training.steps), pause = median(training.pauses),
               work = median(training.between);
  std::printf("  %lld weights, optimizer Adadelta, 1 thread, a step of %lld images takes %.1f ms\n",
              static_cast<long long>(model.module().parameter_count()), static_cast<long long>(kBatch),
              1e3 * step);
  std::printf("  pauses for a checkpoint: %.2f (least), %.2f (median), %.2f ms (most) of %zu\n",
              1e3 * training.pauses.front(), 1e3 * pause, 1e3 * training.pauses.back(),
              training.pauses.size());
  std::printf("  of a processor: %.2f (least), %.2f (median), %.2f ms (most, with memory that is new)\n",
              1e3 * training.between.front(), 1e3 * work, 1e3 * training.between.back());

  const double made = seconds_of([&] { model.save(dir / "model.h5"); });
  std::printf("  a file is made and written in %.1f ms of a processor, %.2f %% of one at a save every 10 s\n",
              1e3 * made, 100.0 * made / 10.0);
  measure_reading(dir / "model.h5");
  const ParameterArena& arena = model.arena();
  const Tensor squares = Tensor::zeros({}, {.dtype = DType::f64});
  print_share("gradients looked through for NaN",
              seconds_of([&] { squares.backend().sum_of_squares(squares, arena.gradients()); }), step, 1);
  std::uint64_t hash = 0;
  print_share("weights and state hashed", seconds_of([&] {
                hash = hash64(arena.values().raw(), arena.values().byte_size(), hash);
                for (const OptimizerSlot& slot : model.optimizer().slots())
                  hash = hash64(slot.values.raw(), slot.values.byte_size(), hash);
              }),
              step, 100);
  return pause <= kMostPause && hash != 1;
}

}  // namespace ronde::rigs
