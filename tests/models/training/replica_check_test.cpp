// Replicas that should be equal and are not.
#include "training/replica_check.h"
#include "training/hash64.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

#include <ronde/models/lambda_callback.h>

#include "models/testing.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

TEST(Hash64, EveryBitCountsAndSoDoesTheLength) {
  std::string bytes;
  for (int i = 0; i < 75; ++i) bytes.push_back(static_cast<char>(i * 37));
  std::set<std::uint64_t> hashes;
  for (std::size_t length = 0; length <= bytes.size(); ++length) hashes.insert(hash64(bytes.data(), length));
  EXPECT_EQ(hashes.size(), bytes.size() + 1);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    hashes.insert(hash64(other.data(), other.size()));
  }
  EXPECT_EQ(hashes.size(), bytes.size() + 1 + 8 * bytes.size());
  EXPECT_NE(hash64(bytes.data(), bytes.size(), 1), hash64(bytes.data(), bytes.size(), 2));
}

TEST(Hash64, SwappedAndShiftedWordsAreOtherBytes) {
  std::vector<std::uint64_t> words{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::set<std::uint64_t> hashes{hash64(words.data(), 72)};
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t k = i + 1; k < words.size(); ++k) {
      std::swap(words[i], words[k]);
      hashes.insert(hash64(words.data(), 72));
      std::swap(words[i], words[k]);
    }
  EXPECT_EQ(hashes.size(), 37u);
}

/// Turns a bit of a float.
void flip(const Tensor& flat, std::int64_t element, int bit = 3) {
  float& value = flat.data<float>()[element];
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
}

/// What all ranks say when `spoil` is called on one of them in the third of 8 steps; `every`: steps.
std::vector<std::string> messages(int ranks, std::int64_t every, int bad_rank,
                                  const std::function<void(Model&)>& spoil,
                                  const DistributedOptions& way = {}, double rate = 0.01) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  const InMemoryDataset data = small_images(48);
  test::run_ranks(ranks, [&](Communicator& world) {
    Model model(small_net(), {6, 6, 1}, {.communicator = &world});
    CompileOptions compile = small_compile(rate);
    compile.distributed = way;
    model.compile(std::move(compile));
    LambdaCallback fault({.on_train_batch_end = [&](std::int64_t batch, const Logs&) {
      if (batch == 2 && world.rank() == bad_rank) spoil(model);
    }});
    std::string& text = texts[static_cast<std::size_t>(world.rank())];
    try {
      model.fit(data, {.global_batch_size = 6,
                       .epochs = 2,
                       .check_replicas_every = every,
                       .callbacks = {&fault},
                       .verbose = 0});
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.status(), ExitStatus::replicas_differ);
      text = cat(error.rank(), ": ", error.what());
    }
  });
  return texts;
}

TEST(ReplicaCheck, TheOddRankIsNamedByAllWithinTheInterval) {
  for (int bad_rank = 0; bad_rank < 3; ++bad_rank) {
    for (const std::string& text :
         messages(3, 2, bad_rank, [](Model& model) { flip(model.arena().values(), 0); }))
      EXPECT_EQ(text, cat(bad_rank, ": after 4 steps the replicas differ: rank ", bad_rank,
                          " has not what the other 2 have in ",
                          "dense/bias: go on from a checkpoint, and suspect the machine of rank ", bad_rank));
  }
}

TEST(ReplicaCheck, TheOddRankOfAGroupIsNamedAsItIsInTheWorld) {
  const InMemoryDataset data = small_images(48);
  test::run_ranks(4, [&](Communicator& world) {
    const auto group = world.split(world.rank() == 0 ? -1 : 0, world.rank());
    if (!group) return;
    Model model(small_net(), {6, 6, 1}, {.communicator = group.get()});
    model.compile(small_compile(0.01));
    LambdaCallback fault({.on_train_batch_end = [&](std::int64_t, const Logs&) {
      if (group->rank() == 1) flip(model.arena().values(), 0);
    }});
    const std::string message = message_of<CollectiveError>([&] {
      model.fit(data,
                {.global_batch_size = 6, .check_replicas_every = 1, .callbacks = {&fault}, .verbose = 0});
    });
    EXPECT_NE(message.find("rank 2 has not what the other 2 have"), std::string::npos) << message;
    EXPECT_NE(message.find("suspect the machine of rank 2"), std::string::npos) << message;
  });
}

TEST(ReplicaCheck, OptimizerStateAndCountersCountToo) {
  // With a rate of 0 the weights stay equal.
  const auto slot = messages(
      3, 4, 1, [](Model& model) { flip(model.optimizer().slots()[1].values, 0, 30); }, {}, 0.0);
  EXPECT_NE(slot[0].find("rank 1 has not what the other 2 have in velocity of dense/bias"), std::string::npos)
      << slot[0];
  const auto rate = messages(3, 1, 1, [](Model& model) { model.optimizer().set_learning_rate(0.02); });
  EXPECT_NE(rate[2].find("rank 1 has not"), std::string::npos) << rate[2];
}

TEST(ReplicaCheck, TwoRanksHaveNoMajority) {
  const auto texts = messages(2, 1, 1, [](Model& model) { flip(model.arena().values(), 0); });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0].find("ranks 0 and 1 in dense/bias (no majority tells which is wrong)"),
            std::string::npos)
      << texts[0];
}

TEST(ReplicaCheck, ItIsFoundAtTheEndOfTheEpochWhereTheIntervalIsLonger) {
  const auto texts = messages(3, 1000, 2, [](Model& model) { flip(model.arena().values(), 0); });
  EXPECT_NE(texts[0].find("after 8 steps"), std::string::npos) << texts[0];
}

TEST(ReplicaCheck, LeavesAGoodRunAloneHoweverRanksTrain) {
  const std::vector<DistributedOptions> ways{{},
                                             {.state = StateLayout::sharded},
                                             {.local_steps = {.period = 3}},
                                             {.compression = compression::Bf16{}},
                                             {.compression = compression::TopK{.ratio = 0.3}},
                                             {.combine = Combine::adasum}};
  for (const DistributedOptions& way : ways)
    for (const std::int64_t every : {0, 1, 4})
      for (const std::string& text : messages(
               2, every, -1, [](Model&) {}, way))
        EXPECT_EQ(text, "");
  EXPECT_EQ(messages(3, 0, 1, [](Model& model) { flip(model.arena().values(), 0); })[0], "")
      << "it was told not to look";
}

TEST(ReplicaCheck, LocalStepsAreComparedWhenTheirWeightsAreAveraged) {
  // The second average is at step 6; the check falls due at step 5.
  const auto texts = messages(3, 5, 1, [](Model& model) { model.optimizer().set_learning_rate(0.5); },
                              {.local_steps = {.period = 3}});
  EXPECT_NE(texts[0].find("after 6 steps the replicas differ: rank 1 has not"), std::string::npos)
      << texts[0];
}

}  // namespace
}  // namespace ronde::test
