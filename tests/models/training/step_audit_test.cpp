// Machines that compute other bits when they compute the same again.
#include "training/step_audit.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include <ronde/nn/batch_normalization.h>

#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

/// Passes its input on; in one of its calls in training, a bit of it turns.
class FaultyMemory : public Module {
 public:
  FaultyMemory(int call, std::int64_t element) : call_(call), element_(element) {}
  Variable forward(const Variable& x, const Context& context) override {
    if (!context.training || ++calls_ != call_) return x;
    float& value = x.value().data<float>()[element_];
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << 22);
    return x;
  }

 private:
  int call_, calls_ = 0;
  std::int64_t element_;
};

std::unique_ptr<Module> net_with_fault(int call) {
  return std::make_unique<Sequential>(Conv2D({.filters = 4}), FaultyMemory(call, 1), BatchNormalization(),
                                      Flatten(), Dropout(0.25),
                                      Dense({.units = 3, .activation = Activation::softmax}));
}

struct AuditOutcome {
  std::string message;         ///< empty: the run ended well
  std::string weights;         ///< and moving statistics
  std::vector<float> trained;  ///< without them
};

/// On each of some ranks, of which `bad_rank` turns a bit in its call number `call`.
std::vector<AuditOutcome> train_audited(int ranks, int bad_rank, int call, FitOptions fit) {
  std::vector<AuditOutcome> outcomes(static_cast<std::size_t>(ranks));
  const InMemoryDataset data = small_images(48);
  fit.global_batch_size = 12;
  fit.verbose = 0;
  test::run_ranks(ranks, [&](Communicator& world) {
    AuditOutcome& outcome = outcomes[static_cast<std::size_t>(world.rank())];
    Model model(net_with_fault(world.rank() == bad_rank ? call : 0), {6, 6, 1}, {.communicator = &world});
    CompileOptions compile = small_compile();
    compile.distributed.buckets = {.first_bucket_bytes = 1, .bucket_bytes = 1};  // which would leave early
    model.compile(std::move(compile));
    try {
      model.fit(data, fit);
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.status(), ExitStatus::replicas_differ);
      outcome.message = cat(error.rank(), ": ", error.what());
    }
    outcome.weights = model.weights_sha256();
    outcome.trained = model.arena().values().to_vector<float>();
  });
  return outcomes;
}

// Steps 1 and 3 call the layer once, audited steps 2 and 4 twice.
TEST(StepAudit, ATurnedBitIsFoundInEitherPassAndAllRanksNameTheRank) {
  for (const int call : {2, 3})
    for (const AuditOutcome& outcome : train_audited(3, 1, call, {.audit_every = 2})) {
      EXPECT_TRUE(
          outcome.message.starts_with("1: [fit] step 2: rank 1 has computed its part twice, and got other "
                                      "bits in the gradient of dense/"))
          << outcome.message;
      EXPECT_TRUE(outcome.message.ends_with(": go on from a checkpoint, and suspect the machine of rank 1"))
          << outcome.message;
    }
  EXPECT_EQ(train_audited(1, 0, 5, {.audit_every = 2})[0].message.substr(0, 22), "0: [fit] step 4: rank ");
}

TEST(StepAudit, TheRankOfAGroupIsNamedAsItIsInTheWorld) {
  const InMemoryDataset data = small_images(48);
  test::run_ranks(4, [&](Communicator& world) {
    const auto pair = world.split(world.rank() / 2, world.rank());
    Model model(net_with_fault(pair->rank() == 1 ? 2 : 0), {6, 6, 1}, {.communicator = &*pair});
    model.compile(small_compile());
    try {
      model.fit(data, {.global_batch_size = 12, .audit_every = 2, .verbose = 0});
      ADD_FAILURE() << "it went on";
    } catch (const CollectiveError& error) {
      const int bad = world.rank() / 2 * 2 + 1;
      EXPECT_EQ(error.world_rank(), bad);
      EXPECT_NE(std::string(error.what()).find(cat("rank ", bad, " has computed")), std::string::npos)
          << error.what();
    }
  });
}

TEST(StepAudit, TheWeightsHaveNotChangedWhenItIsFound) {
  const std::vector<float> before = train_audited(1, 0, 0, {.max_steps = 1})[0].trained;
  EXPECT_EQ(train_audited(1, 0, 2, {.audit_every = 2})[0].trained, before);
}

TEST(StepAudit, StepsBetweenAreNotLookedAt) {
  EXPECT_EQ(train_audited(2, 1, 1, {.audit_every = 2})[0].message, "");
  EXPECT_EQ(train_audited(2, 1, 4, {.audit_every = 2})[0].message, "");
  EXPECT_EQ(train_audited(2, 1, 2, {})[0].message, "");
}

TEST(StepAudit, DeterministicModeIsAuditedShardByShard) {
  const FitOptions fit{.deterministic = true, .virtual_shards = 4, .audit_every = 1};
  for (const AuditOutcome& outcome : train_audited(2, 0, 3, fit))  // the second shard's first pass
    EXPECT_TRUE(outcome.message.starts_with("0: [fit] step 1: rank 0 ")) << outcome.message;
}

// Every value is that of a run without audits, however ranks train: loss, metrics, moving statistics,
// weights.
TEST(StepAudit, ChangesNothingInAGoodRun) {
  const std::vector<FitOptions> ways{{},
                                     {.micro_batch = 3},
                                     {.backward_passes_per_step = 3},
                                     {.loader_threads = 2},
                                     {.deterministic = true, .virtual_shards = 4}};
  for (FitOptions fit : ways) {
    fit.epochs = 2;
    fit.audit_every = 0;
    const std::vector<AuditOutcome> plain = train_audited(2, -1, 0, fit);
    for (const std::int64_t every : {1, 3}) {
      fit.audit_every = every;
      for (const AuditOutcome& outcome : train_audited(2, -1, 0, fit)) {
        EXPECT_EQ(outcome.message, "");
        EXPECT_EQ(outcome.weights, plain[0].weights);
      }
    }
  }
}

}  // namespace
}  // namespace ronde::test
