// A step that is taken back on GPUs, and one that is computed twice: the state behind it is, bit for bit,
// that of a training which never made it.
#include <cmath>

#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/sgd.h>

#include "cuda/digits.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// The samples [begin, end) of digits(), of which these have a pixel that is no number.
InMemoryDataset part_of_digits(std::int64_t begin, std::int64_t end,
                               std::initializer_list<std::int64_t> bad = {}) {
  const InMemoryDataset data = test::digits();
  std::vector<float> pixels = data.inputs().to_vector<float>();
  for (const std::int64_t sample : bad) pixels[static_cast<std::size_t>(64 * sample + 5)] = NAN;
  const Tensor inputs = Tensor::from<float>({40, 8, 8, 1}, pixels);
  return {inputs.slice(0, begin, end).clone(), data.targets().slice(0, begin, end).clone()};
}

/// How GPUs train. On one the device decides what is refused, in the graph; several ranks ask the host.
struct GpuWay {
  int ranks = 1;
  ComputeDtype compute_dtype = {};
  bool graphs = true;
};

const std::vector<GpuWay> kGpuWays{{1}, {1, DType::bf16}, {1, DType::bf16, false}, {2}, {2, DType::bf16}};

std::string text_of(const GpuWay& way) {
  return cat(way.ranks, way.compute_dtype ? ", mixed" : ", f32", way.graphs ? ", graphs" : ", no graphs");
}

/// All that a training goes on from, and what it said.
struct Behind {
  std::vector<Values> values;  ///< weights, moving statistics, the optimizer's
  std::int64_t iterations = 0;
  Values losses = {};
  std::vector<std::string> lines = {};  ///< warnings, or the error

  void expect(const Behind& expected) const {
    EXPECT_EQ(values, expected.values);
    EXPECT_EQ(iterations, expected.iterations);
    EXPECT_EQ(losses, expected.losses);
  }
};

/// What a training is made of, on each rank.
struct Job {
  InMemoryDataset data;
  FitOptions fit;
  double dropout = 0.25;
  std::string file = {};  ///< whose state it begins with
  std::function<std::unique_ptr<Callback>(Model& model)> callback = {};
  std::function<std::unique_ptr<Module>(int rank)> layer = {};  ///< behind the first
  ExitStatus status = ExitStatus::ok;
  std::int64_t replays = -1;  ///< -1: of no interest
};

std::unique_ptr<Module> net_of(const Job& job, int rank) {
  auto net = std::make_unique<Sequential>(Conv2D({.filters = 4, .activation = Activation::relu}));
  if (job.layer) net->add(job.layer(rank));
  net->add(BatchNormalization());
  net->add(MaxPooling2D());
  net->add(Dropout(job.dropout));
  net->add(Flatten());
  net->add(Dense({.units = 4, .activation = Activation::softmax}));
  return net;
}

FitOptions batches_of_four(NonFiniteAction action) {
  return {
      .global_batch_size = 4, .epochs = 2, .shuffle = false, .non_finite = {.action = action}, .verbose = 0};
}

Behind train_rank(Communicator& world, const GpuWay& way, const Job& job) {
  FakeDevice device({.seed = static_cast<std::uint64_t>(7 + world.rank()), .id = cat("fake:", world.rank())},
                    {.graphs = way.graphs});
  Model model(
      net_of(job, world.rank()), {8, 8, 1},
      {.communicator = &world, .seed = 3, .backend = &device.backend, .compute_dtype = way.compute_dtype});
  // The host knows the momentum of one; corrections of the other count steps.
  std::unique_ptr<Optimizer> optimizer =
      std::make_unique<SGD>(SGDOptions{.learning_rate = 0.05, .momentum = 0.9});
  if (way.compute_dtype) optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.02});
  optimizer->set_moving_average({.momentum = 0.75});
  // Several buckets, of which all but the last are sent by the backward pass.
  model.compile({.optimizer = std::move(optimizer),
                 .loss = std::make_unique<CategoricalCrossentropy>(),
                 .distributed = {.buckets = {.first_bucket_bytes = 64, .bucket_bytes = 64}}});
  if (!job.file.empty()) model.load_weights(job.file);
  Behind behind;
  FitOptions fit = job.fit;
  fit.warn = [&](const std::string& line) { behind.lines.push_back(line); };
  std::unique_ptr<Callback> callback;
  if (job.callback) fit.callbacks = {(callback = job.callback(model)).get()};
  try {
    behind.losses = model.fit(job.data, fit).values["loss"];
    EXPECT_EQ(job.status, ExitStatus::ok) << "it went on";
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.status(), job.status);
    behind.lines.push_back(error.what());
  }
  if (model.optimizer().is_averaged())
    model.swap_average();  // a training that broke off has the trained ones
  behind.values = {model.arena().values().to_vector<double>(), model.arena().buffers().to_vector<double>()};
  for (const OptimizerSlot& slot : model.optimizer().slots())
    behind.values.push_back(slot.values.to_vector<double>());
  behind.iterations = model.optimizer().iterations();
  if (job.replays >= 0) {
    EXPECT_EQ(device.runtime.replays(), way.graphs ? job.replays : 0);
  }
  return behind;
}

/// Rank 0's, which the others' are like.
Behind train_on_gpus(const GpuWay& way, const Job& job) {
  std::vector<Behind> all(static_cast<std::size_t>(way.ranks));
  run_ranks(way.ranks, [&](Communicator& world) {
    all[static_cast<std::size_t>(world.rank())] = train_rank(world, way, job);
  });
  EXPECT_EQ(all.back().values[0], all[0].values[0]);
  EXPECT_EQ(all.back().values.back(), all[0].values.back());
  return all[0];
}

// The last step of each epoch is bad, so that masks of dropout are those of an epoch without it. Each step
// has a rate of its own; the momentum that was asked for the bad one is the next one's.
TEST(GpuWrongNumbers, ASkippedStepIsAsIfItHadNeverBeen) {
  const auto vary = [](Model& model) {
    return std::make_unique<LambdaCallback>(
        LambdaCallbackOptions{.on_train_batch_begin = [&model, steps = 0](std::int64_t batch) mutable {
          model.optimizer().set_learning_rate(0.05 / static_cast<double>(1 + batch));
          if (++steps == 10) model.optimizer().scale_momentum_once(0.25);
        }});
  };
  const FitOptions fit = batches_of_four(NonFiniteAction::skip);
  for (const GpuWay& way : kGpuWays) {
    SCOPED_TRACE(text_of(way));
    const Behind got = train_on_gpus(
        way, {.data = part_of_digits(0, 40, {37}), .fit = fit, .callback = vary, .replays = 18});
    got.expect(train_on_gpus(way, {.data = part_of_digits(0, 36), .fit = fit, .callback = vary}));
    const std::string why =
        cat(" is not finite: rank ", way.ranks - 1, ": the input of sample 37 is nan; skipped (1 of 10)");
    EXPECT_EQ(got.lines, (std::vector<std::string>{"[fit] step 10 (10 of epoch 1)" + why,
                                                   "[fit] step 20 (10 of epoch 2)" + why}));
  }
}

// Groups of two batches, of which the third of an epoch is one batch, and of which nobody looks at the
// numbers of the first training: then that batch is a graph with sums of its own. And steps between averages.
TEST(GpuWrongNumbers, RanksLeaveOutUpdatesOfSeveralBatchesAsOnTheCpu) {
  struct Other {
    NonFiniteAction action;
    std::int64_t batches, period, lines;
  };
  for (const Other& other : {Other{NonFiniteAction::finish_epoch, 2, 1, 0},
                             {NonFiniteAction::skip, 2, 1, 8},
                             {NonFiniteAction::skip, 1, 3, 8}}) {
    SCOPED_TRACE(cat("lines: ", other.lines, ", local steps: ", other.period));
    const auto train = [&](Communicator& world, Backend& backend) {
      Model model(digits_net(), {8, 8, 1}, {.communicator = &world, .seed = 3, .backend = &backend});
      model.compile({.optimizer = digits_optimizer(),
                     .loss = std::make_unique<CategoricalCrossentropy>(),
                     .distributed = {.local_steps = {.period = other.period}}});
      FitOptions fit = batches_of_four(other.action);
      fit.global_batch_size = 8;
      fit.epochs = 4;
      fit.backward_passes_per_step = other.batches;
      Behind behind;
      fit.warn = [&](const std::string& line) { behind.lines.push_back(line); };
      const InMemoryDataset data = other.lines > 0 ? part_of_digits(0, 40, {9, 39}) : part_of_digits(0, 40);
      behind.losses = model.fit(data, fit).values["loss"];
      behind.values = {model.arena().values().to_vector<double>(),
                       model.arena().buffers().to_vector<double>()};
      return behind;
    };
    std::vector<Behind> expected(2), got(2);
    run_ranks(2, [&](Communicator& world) {
      expected[static_cast<std::size_t>(world.rank())] = train(world, backend("cpu"));
    });
    run_ranks(2, [&](Communicator& world) {
      FakeDevice device({.id = cat("fake:", world.rank())});
      got[static_cast<std::size_t>(world.rank())] = train(world, device.backend);
      EXPECT_GE(device.runtime.replays(), 8);
    });
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(got[rank].lines, expected[rank].lines);
      expect_near(got[rank].losses, expected[rank].losses, 1e-4);
      for (std::size_t i = 0; i < 2; ++i) expect_near(got[rank].values[i], expected[rank].values[i], 1e-4);
    }
    EXPECT_EQ(got[0].lines.size(), static_cast<std::size_t>(other.lines));
  }
}

/// Files of every fourth step; and from this batch of an epoch on a smaller rate, if there is one.
class FilesAndRate : public ModelCheckpoint {
 public:
  FilesAndRate(const std::string& path, std::int64_t slower_from)
      : ModelCheckpoint({.filepath = path, .save_steps = 4}), slower_from_(slower_from) {}
  void on_train_batch_begin(std::int64_t batch) override {
    ModelCheckpoint::on_train_batch_begin(batch);
    if (batch == slower_from_) model().optimizer().set_learning_rate(0.004);
  }

 private:
  std::int64_t slower_from_;
};

auto files_of(const std::string& path, std::int64_t slower_from = -1) {
  return [=](Model&) { return std::make_unique<FilesAndRate>(path, slower_from); };
}

// The step 6 of 8 is bad, and the file is of the step 4: the samples of the last two steps follow on it, with
// the rate that was chosen since. There is a graph by then, which knows where weights, their copies in bf16,
// state, rate and corrections lie.
TEST(GpuWrongNumbers, AReturnToAFileIsAsIfTheTrainingHadBegunThere) {
  FitOptions fit = batches_of_four(NonFiniteAction::rollback);
  fit.epochs = 1;
  for (const GpuWay& way : kGpuWays) {
    SCOPED_TRACE(text_of(way));
    const test::TempDir directory(test::memory_directory());
    const std::string file = directory / "4.h5";
    Behind got = train_on_gpus(way, {.data = part_of_digits(0, 32, {21}),
                                     .fit = fit,
                                     .dropout = 0.0,
                                     .callback = files_of(directory / "{batch}.h5", 4),
                                     .replays = 6});
    EXPECT_EQ(got.lines,
              std::vector<std::string>{cat("[fit] step 6 (6 of epoch 1) is not finite: rank ", way.ranks - 1,
                                           ": the input of sample 21 is nan; back to ", file,
                                           " (step 4), and on with the next samples (1 of 10)")});
    Behind expected = train_on_gpus({way.ranks, way.compute_dtype, false},
                                    {.data = part_of_digits(24, 32),
                                     .fit = fit,
                                     .dropout = 0.0,
                                     .file = file,
                                     .callback = files_of(directory / "none-{batch}.h5", 0)});
    expected.losses = got.losses;  // of other samples
    got.expect(expected);
  }
}

// With a file that was written behind such a step, in the middle of an epoch.
TEST(GpuWrongNumbers, ATrainingGoesOnBehindAStepThatWasTakenBack) {
  for (const GpuWay& way : kGpuWays) {
    if (!way.graphs) continue;
    SCOPED_TRACE(text_of(way));
    const test::TempDir directory(test::memory_directory());
    Job job{.data = part_of_digits(0, 40, {21}),  // in the step 6 of each epoch
            .fit = batches_of_four(way.compute_dtype ? NonFiniteAction::rollback : NonFiniteAction::skip),
            .callback = files_of(directory / "{epoch}-{batch}.h5"),
            .replays = 18};
    const Behind expected = train_on_gpus(way, job);
    ASSERT_EQ(expected.lines.size(), 2u);
    job.file = directory / "2-2.h5";
    job.fit.resume = true;
    job.replays = 6;
    const Behind got = train_on_gpus(way, job);
    got.expect(expected);
    EXPECT_EQ(got.lines, std::vector<std::string>{expected.lines[1]});
  }
}

/// Passes its input on; in one of its calls in training, a value of it changes.
class FaultyMemory : public Module {
 public:
  explicit FaultyMemory(int call) : call_(call) {}
  Variable forward(const Variable& x, const Context& context) override {
    if (context.training && ++calls_ == call_) x.value().slice(0, 0, 1).fill(0.375);
    return x;
  }
  bool is_repeatable() const override { return true; }  // but for that

 private:
  int call_, calls_ = 0;
};

/// In this call of the last rank; 0: in none.
auto fault_in(int call, const GpuWay& way) {
  return [call, last = way.ranks - 1](int rank) -> std::unique_ptr<Module> {
    return std::make_unique<FaultyMemory>(rank == last ? call : 0);
  };
}

TEST(GpuWrongNumbers, AuditsChangeNothing) {
  for (const NonFiniteAction action : {NonFiniteAction::abort, NonFiniteAction::finish_epoch})
    for (const GpuWay& way : kGpuWays) {
      SCOPED_TRACE(text_of(way));
      Job job{.data = part_of_digits(0, 40), .fit = batches_of_four(action)};
      job.fit.epochs = 1;
      const Behind expected = train_on_gpus(way, job);
      job.fit.audit_every = 4;
      job.replays = 6;
      train_on_gpus(way, job).expect(expected);
    }
}

// The steps 1 and 2 call the layer, and so does the capture of the step 3; behind that only audits do, of the
// steps 4 and 8, twice each.
TEST(GpuWrongNumbers, AnAuditNamesTheStepAndLeavesTheWeights) {
  for (const GpuWay& way : kGpuWays) {
    if (!way.graphs) continue;
    for (const auto& [call, step] : {std::pair{4, 4}, {7, 8}}) {
      SCOPED_TRACE(cat(text_of(way), ", call ", call));
      Job job{.data = part_of_digits(0, 40),
              .fit = batches_of_four(NonFiniteAction::abort),
              .layer = fault_in(call, way),
              .status = ExitStatus::replicas_differ};
      job.fit.audit_every = 4;
      const Behind got = train_on_gpus(way, job);
      ASSERT_EQ(got.lines.size(), 1u);
      EXPECT_TRUE(got.lines[0].starts_with(cat("[fit] step ", step, ": rank ", way.ranks - 1,
                                               " has computed its part twice, and got other bits in the "
                                               "gradient of dense/")))
          << got.lines[0];
      job.fit.max_steps = step - 1;
      job.layer = fault_in(0, way);
      job.status = ExitStatus::ok;
      const Behind expected = train_on_gpus(way, job);
      EXPECT_EQ(got.values[0], expected.values[0]);
      EXPECT_EQ(got.values.back(), expected.values.back());
      EXPECT_EQ(got.iterations, step - 1);
    }
  }
}

// A weight behind the step 7, and behind the last one of the epoch the rate alone, which changes no weight
// yet.
TEST(GpuWrongNumbers, ReplicasThatDifferAreFoundBehindGraphs) {
  for (const ComputeDtype compute_dtype : {ComputeDtype(), ComputeDtype(DType::bf16)})
    for (const bool has_bad_weight : {true, false}) {
      SCOPED_TRACE(cat(compute_dtype ? "mixed" : "f32", has_bad_weight ? ", weight" : ", rate"));
      const auto spoil = [=](Model& model) {
        return std::make_unique<LambdaCallback>(
            LambdaCallbackOptions{.on_train_batch_end = [=, &model](std::int64_t batch, const Logs&) {
              if (model.communicator().rank() == 0) return;
              if (has_bad_weight && batch == 6) model.arena().values().slice(0, 0, 1).fill(0.375);
              if (!has_bad_weight && batch == 9) model.optimizer().set_learning_rate(0.01);
            }});
      };
      Job job{.data = part_of_digits(0, 40),
              .fit = batches_of_four(NonFiniteAction::finish_epoch),
              .callback = spoil,
              .status = ExitStatus::replicas_differ,
              .replays = has_bad_weight ? 6 : 8};
      job.fit.check_replicas_every = 4;
      std::vector<std::string> lines(2);
      run_ranks(2, [&](Communicator& world) {
        lines[static_cast<std::size_t>(world.rank())] =
            train_rank(world, {2, compute_dtype}, job).lines.at(0);
      });
      const std::string what =
          has_bad_weight ? "dense/bias" : "the optimizer's count of steps or learning rate";
      EXPECT_EQ(lines[0],
                cat("after ", has_bad_weight ? 8 : 10, " steps the replicas differ: ranks 0 and 1 in ", what,
                    " (no majority tells which is wrong): go on from a checkpoint"));
      EXPECT_EQ(lines[1], lines[0]);
    }
}

}  // namespace
}  // namespace ronde::test
