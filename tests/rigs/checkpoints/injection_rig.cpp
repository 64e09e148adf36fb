// A bit of one rank's weights or optimizer state is turned, or one sample of one rank is made NaN or
// infinite: all ranks must end with the same error, which names that rank, and the step or the sample.
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include <ronde/core/backend.h>
#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "rigs/checkpoints/rigs.h"
#include "support/thread_ranks.h"
#include "training/hash64.h"

namespace ronde::rigs {
namespace {

constexpr int kRanks = 3;
constexpr std::int64_t kBatch = 6, kSteps = 6;

/// What the ranks say at the end; empty where nothing.
using Messages = std::vector<std::string>;

/// Tensors that belong to a rank's training, bit for bit.
std::uint64_t hash_of(Model& model) {
  std::uint64_t hash = hash64(model.arena().values().raw(), model.arena().values().byte_size());
  for (const OptimizerSlot& slot : model.optimizer().slots())
    hash = hash64(slot.values.raw(), slot.values.byte_size(), hash);
  return hash;
}

Messages train(const InMemoryDataset& data, const FitOptions& options,
               const std::function<void(Model&)>& spoil, int bad_rank, std::vector<std::uint64_t>& hashes) {
  Messages messages(kRanks);
  hashes.assign(kRanks, 0);
  test::run_ranks(kRanks, [&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    Model model = test::small_model({.communicator = &world, .backend = &backend("cpu")});
    LambdaCallback fault({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
      if (batch == 2 && world.rank() == bad_rank) spoil(model);
    }});
    FitOptions fit = options;
    fit.callbacks = {&fault};
    try {
      model.fit(data, fit);
    } catch (const CollectiveError& error) {
      messages[rank] = cat(error.rank(), " ", static_cast<int>(error.status()), " ", error.what());
    }
    hashes[rank] = hash_of(model);
  });
  return messages;
}

bool all_begin_with(const Messages& messages, const std::string& begin) {
  for (const std::string& message : messages)
    if (message != messages[0] || !message.starts_with(begin)) return false;
  return true;
}

FitOptions options() {
  return {.global_batch_size = kBatch, .shuffle = false, .check_replicas_every = 1, .verbose = 0};
}

struct Tally {
  std::int64_t named = 0, gone = 0, missed = 0;
};

Tally turn_bits(std::int64_t trials, std::mt19937_64& random) {
  Tally tally;
  const InMemoryDataset data = test::small_images(kBatch * kSteps);
  for (std::int64_t i = 0; i < trials; ++i) {
    const int bad_rank = static_cast<int>(random() % kRanks), bit = static_cast<int>(random() % 32);
    const std::uint64_t which = random() % 3, where = random();
    const auto turn = [&](Model& model) {
      const Tensor& flat = which == 2 ? model.arena().values() : model.optimizer().slots()[which].values;
      float& value = flat.data<float>()[where % static_cast<std::uint64_t>(model.arena().trainable_size())];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
    };
    std::vector<std::uint64_t> hashes;
    const Messages messages = train(data, options(), turn, bad_rank, hashes);
    if (all_begin_with(messages,
                       cat(bad_rank, " 87 after 4 steps the replicas differ: rank ", bad_rank, " has")))
      ++tally.named;
    else if (messages[0].empty() && hashes == std::vector<std::uint64_t>(kRanks, hashes[0]))
      ++tally.gone;  // the next update has rounded the difference away
    else
      ++tally.missed;
  }
  return tally;
}

Tally spoil_samples(std::int64_t trials, std::mt19937_64& random) {
  Tally tally;
  for (std::int64_t i = 0; i < trials; ++i) {
    const auto sample = static_cast<std::int64_t>(random() % (kBatch * kSteps));
    const InMemoryDataset good = test::small_images(kBatch * kSteps);
    const Tensor images = good.inputs().clone();
    const double bad[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity()};
    images.data<float>()[sample * 36 + static_cast<std::int64_t>(random() % 36)] =
        static_cast<float>(bad[random() % 3]);
    FitOptions fit = options();
    fit.non_finite = {.action = NonFiniteAction::abort};
    std::vector<std::uint64_t> hashes;
    const Messages messages = train(
        {images, good.targets()}, fit, [](Model&) {}, -1, hashes);
    const std::int64_t step = sample / kBatch + 1, rank = sample % kBatch % kRanks;
    const std::string begin =
        cat(rank, " 88 [fit] step ", step, " (", step, " of epoch 1) is not finite: rank ", rank,
            ": the input of sample ", sample, " is ");
    all_begin_with(messages, begin) ? ++tally.named : ++tally.missed;
  }
  return tally;
}

}  // namespace

bool run_injections(const RigOptions& options) {
  std::mt19937_64 random(options.seed);
  const Tally bits = turn_bits(options.trials, random), samples = spoil_samples(options.trials, random);
  std::printf("  bits turned            %6lld named  %6lld gone with the next update  %6lld missed\n",
              static_cast<long long>(bits.named), static_cast<long long>(bits.gone),
              static_cast<long long>(bits.missed));
  std::printf("  samples made NaN, inf  %6lld named  %6lld missed\n", static_cast<long long>(samples.named),
              static_cast<long long>(samples.missed));
  return bits.missed == 0 && samples.missed == 0 && bits.named > options.trials / 2;
}

}  // namespace ronde::rigs
