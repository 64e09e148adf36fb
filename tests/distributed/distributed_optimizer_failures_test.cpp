// What goes wrong on one rank ends on all.
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>
#include <ronde/distributed/objects.h>
#include <ronde/distributed/values.h>
#include <ronde/nn/batch_normalization.h>

#include "distributed/small_training.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

// An optimizer whose state finds no room.
struct LargeAdam : Adam {
  void attach(ParameterArena&) override { throw Error("no memory for the state"); }
};

TEST(DistributedOptimizer, StateThatOneRankHasNoMemoryForIsAnErrorOnAllRanks) {
  run_ranks(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    const bool is_odd = world.rank() == 1;
    DistributedOptimizer optimizer(is_odd ? std::make_unique<LargeAdam>() : make_adam(), world);
    try {
      optimizer.attach(arena);
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_STREQ(error.what(), "no memory for the state");
      EXPECT_EQ(error.rank(), 1);
    }
    DistributedOptimizer again(make_adam(), world);
    again.attach(arena);
  });
}

// An exception on one rank in the middle of a step must not leave the others waiting.
TEST(DistributedOptimizer, FailureInBackwardReachesAllRanks) {
  const auto errors = run_ranks_collecting(3, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    for (int s = 0;; ++s) {
      arena.zero_gradients();
      if (s == 3 && world.rank() == 2) throw InputError("bad sample");
      net.loss(make_samples(s * 9 + world.rank() * 3, 3)).backward();
      optimizer.step({.samples = 3});
    }
  });
  EXPECT_THROW(std::rethrow_exception(errors[0]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[1]), CollectiveError);
  EXPECT_THROW(std::rethrow_exception(errors[2]), InputError);
}

// By a loop that has no `zero_gradients` between two passes, as one that adds up gradients.
TEST(DistributedOptimizer, ExpectBeginsAPassAnewWhoseBucketsHaveLeft) {
  run_ranks(2, [](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
    optimizer.attach(arena);
    net.loss(make_samples(3 * world.rank(), 3)).backward();
    optimizer.expect({.samples = 3});
    net.loss(make_samples(3 * world.rank(), 3)).backward();
    EXPECT_EQ(optimizer.step({.samples = 3}), 6);
  });
}

// Trains for some steps, of which in the second the ranks of `where` break off the backward pass as the
// gradient of that parameter arrives. Every rank catches what it gets to hear and goes on. `begin`: what it
// does before it zeroes the gradients.
void go_on_after(const std::map<int, std::size_t>& where, const DistributedOptions& options,
                 const std::function<void(DistributedOptimizer&)>& begin) {
  run_ranks(3, [&](Communicator& world) {
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), world, options);
    int step = 0;
    const auto breaks = where.find(world.rank());
    if (breaks != where.end()) {
      Variable variable = arena.variable(breaks->second);
      variable.on_grad_ready([&](const Variable&) { require<InputError>(step != 1, "bad sample"); });
    }
    optimizer.attach(arena);
    std::vector<std::int64_t> totals;
    for (; step < 5; ++step) {
      try {
        begin(optimizer);
        arena.zero_gradients();
        net.loss(make_samples(step * 9 + world.rank() * 3, 3)).backward();
        totals.push_back(optimizer.step({.samples = 3}));
      } catch (const Error&) {
        EXPECT_EQ(step, 1) << "rank " << world.rank();
      }
    }
    EXPECT_EQ(totals, std::vector<std::int64_t>(4, 9)) << "rank " << world.rank();
    const std::vector<double> own = weights_of(arena);
    std::vector<double> first = own;
    broadcast(world, first).wait();
    EXPECT_EQ(own, first) << "rank " << world.rank();
  });
}

void expect_to_go_on_after(const std::map<int, std::size_t>& where, const DistributedOptions& options) {
  go_on_after(where, options, [](DistributedOptimizer&) {});
  go_on_after(where, options, [](DistributedOptimizer& optimizer) { optimizer.expect({.samples = 3}); });
}

TEST(DistributedOptimizer, GoesOnAfterAPassThatAllRanksBrokeOff) {
  expect_to_go_on_after({{0, 5}, {1, 5}, {2, 5}}, kSmallBuckets);
}

TEST(DistributedOptimizer, GoesOnAfterAPassThatWasBrokenOffInDifferentPlaces) {
  expect_to_go_on_after({{0, 3}, {1, 5}, {2, 4}}, {.buckets = {.first_bucket_bytes = 1, .bucket_bytes = 1}});
}

TEST(DistributedOptimizer, GoesOnAfterAPassThatOneRankBrokeOff) {
  for (const Compression& compression : {Compression(compression::None()), Compression(compression::TopK())})
    expect_to_go_on_after(
        {{1, 4}}, {.buckets = {.first_bucket_bytes = 1, .bucket_bytes = 1}, .compression = compression});
}

// The others' only bucket leaves when their pass is over: none of theirs has left yet, nor one of its own.
TEST(DistributedOptimizer, GoesOnAfterAPassThatOneRankBrokeOffBeforeAnythingLeft) {
  for (const std::size_t where : {0, 4}) expect_to_go_on_after({{1, where}}, {});
}

// With a layer whose sums over the ranks are part of the forward pass, and a place behind that.
struct SynchronizedNet : Module {
  Dense hidden{{.units = 5}};
  BatchNormalization norm{{.synchronized = true}};
  Dense out{{.units = 3}};
  std::function<void()> behind_norm = [] {};

  SynchronizedNet() {
    add_module("hidden", hidden);
    add_module("norm", norm);
    add_module("out", out);
    build({6}, {.seed = 1, .dtype = DType::f64, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable y = norm(hidden(x, context), context);
    behind_norm();
    return out(y, context);
  }
};

enum class Fails { before_forward, behind_norm };

// Rank 1 fails in the second of five steps before a gradient of it has arrived. Each step has another number
// of samples, so sums of two different ones show. `before_zero` and `behind_zero`: what the loop says to the
// optimizer there.
void go_on_after_forward(Module& net, Communicator& world, const std::function<void(int)>& forward,
                         const std::function<void(DistributedOptimizer&)>& before_zero,
                         const std::function<void(DistributedOptimizer&)>& behind_zero) {
  ParameterArena arena(net);
  DistributedOptimizer optimizer(make_adam(), world, kSmallBuckets);
  optimizer.attach(arena);
  for (int step = 0; step < 5; ++step) {
    const bool is_broken = step == 1;
    try {
      before_zero(optimizer);
      arena.zero_gradients();
      behind_zero(optimizer);
      forward(step);
      EXPECT_EQ(optimizer.step({.samples = 3 + step}), world.size() * (3 + step)) << "rank " << world.rank();
      EXPECT_FALSE(is_broken);
    } catch (const CollectiveError& error) {
      EXPECT_TRUE(is_broken && world.rank() != 1) << error.what();
      const std::string what = error.what();
      EXPECT_NE(what.find("rank 1 calls barrier 'gradients begun anew'"), std::string::npos) << what;
    } catch (const InputError&) {
      EXPECT_TRUE(is_broken && world.rank() == 1) << "rank " << world.rank() << ", step " << step;
    }
  }
  EXPECT_EQ(optimizer.optimizer().iterations(), 4);
  const std::vector<double> own = weights_of(arena);
  std::vector<double> first = own;
  broadcast(world, first).wait();
  EXPECT_EQ(own, first) << "rank " << world.rank();
}

using Says = std::function<void(DistributedOptimizer&)>;

void expect_to_go_on_after_forward(
    const std::function<void(Communicator&, const Says&, const Says&)>& train) {
  const Says nothing = [](DistributedOptimizer&) {};
  const Says samples = [](DistributedOptimizer& optimizer) { optimizer.expect({.samples = 3}); };
  run_ranks(3, [&](Communicator& world) { train(world, nothing, nothing); });
  run_ranks(3, [&](Communicator& world) { train(world, samples, nothing); });
  run_ranks(3, [&](Communicator& world) { train(world, nothing, samples); });
}

// The others have all of their gradients, and wait for sums.
TEST(DistributedOptimizer, GoesOnAfterAForwardPassThatOneRankBrokeOff) {
  expect_to_go_on_after_forward([](Communicator& world, const Says& before_zero, const Says& behind_zero) {
    SmallNet net;
    const auto forward = [&](int step) {
      require<InputError>(step != 1 || world.rank() != 1, "bad sample");
      net.loss(make_samples(step * 9 + world.rank() * 3, 3)).backward();
    };
    go_on_after_forward(net, world, forward, before_zero, behind_zero);
  });
}

// The others wait in the forward pass, or in the backward pass.
TEST(DistributedOptimizer, GoesOnAfterAForwardPassOfSynchronizedLayersThatOneRankBrokeOff) {
  for (const Fails where : {Fails::before_forward, Fails::behind_norm})
    expect_to_go_on_after_forward([=](Communicator& world, const Says& before_zero, const Says& behind_zero) {
      SynchronizedNet net;
      const Context context{.training = true,
                            .sum_over_ranks = [&](const Tensor& values) { world.allreduce(values).wait(); }};
      const auto forward = [&](int step) {
        const bool fails = step == 1 && world.rank() == 1;
        require<InputError>(!fails || where != Fails::before_forward, "bad sample");
        net.behind_norm = [=] { require<InputError>(!fails, "bad sample"); };
        const Samples samples = make_samples(step * 9 + world.rank() * 3, 3);
        sum(squared_error(net(samples.x, context), samples.y)).backward();
      };
      go_on_after_forward(net, world, forward, before_zero, behind_zero);
    });
}

// Of another one, of which all ranks have no memory for the first bucket that leaves, or for a sum of so many
// elements.
struct OutOfMemoryOnce final : Communicator {
  explicit OutOfMemoryOnce(Communicator& under_in) : under(under_in) {}
  int rank() const override { return under.rank(); }
  int size() const override { return under.size(); }
  int local_rank() const override { return under.local_rank(); }
  int local_size() const override { return under.local_size(); }
  int cross_rank() const override { return under.cross_rank(); }
  int cross_size() const override { return under.cross_size(); }
  std::string name() const override { return under.name(); }
  Work start(Collective call) override {
    if (fails_on > 0 && call.tensors.size() == 1 && call.tensors[0].count() == fails_on) {
      fails_on = 0;
      return under.allreduce(Tensor::zeros({1 + rank()}, {.backend = &backend("cpu")}));  // of other sizes
    }
    return under.start(std::move(call));
  }
  std::int64_t fails_on = 0;
  Work sequence(const std::string& call, std::function<void(Communicator&)> body) override {
    if (!std::exchange(is_short, false)) return under.sequence(call, std::move(body));
    return under.sequence(
        call, [](Communicator& parts) { agree(parts, "no memory to work in", ExitStatus::failure); });
  }
  std::unique_ptr<Communicator> split(int color, int key) override { return under.split(color, key); }
  bool conclude(const Ending& ending) override { return under.conclude(ending); }

  Communicator& under;
  bool is_short = false;
};

// The weights are those that each rank had, and the next average is one of them.
TEST(DistributedOptimizer, GoesOnAfterAnAverageOfWeightsThatFailed) {
  std::array<std::vector<double>, 2> weights;
  run_ranks(2, [&](Communicator& world) {
    OutOfMemoryOnce some(world);
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), some, {.local_steps = {.period = 2}});
    optimizer.attach(arena);
    const auto step = [&](int number) {
      arena.zero_gradients();
      net.loss(make_samples(number * 6 + world.rank() * 3, 3)).backward();
      optimizer.step({.samples = 3});
    };
    const auto values = [&] { return arena.values().view(0, {arena.trainable_size()}).to_vector<double>(); };
    step(0);
    const std::vector<double> before = values();
    some.fails_on = arena.trainable_size();
    EXPECT_THROW(step(1), CollectiveError);
    EXPECT_FALSE(optimizer.weights_agree());
    const std::vector<double> own = values();
    const auto squares = [](const std::vector<double>& x) {
      return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
    };
    EXPECT_GT(squares(own), 0.9 * squares(before)) << "they are half as large";
    const std::vector<std::vector<double>> all = allgather_object(world, own).wait();
    EXPECT_NE(all[0], all[1]);
    optimizer.synchronize();
    EXPECT_TRUE(optimizer.weights_agree());
    weights[static_cast<std::size_t>(world.rank())] = values();
    for (std::size_t i = 0; i < own.size(); ++i)
      ASSERT_NEAR(values()[i], 0.5 * (all[0][i] + all[1][i]), 1e-6) << i;
  });
  EXPECT_EQ(weights[0], weights[1]);
}

// What is said of the next step must not be written while the buckets behind the failed one read what was
// said of this one: ThreadSanitizer sees that.
TEST(DistributedOptimizer, NothingOfAStepRunsWhenItsErrorIsCaught) {
  const DistributedOptions options{.buckets = {.first_bucket_bytes = 1, .bucket_bytes = 1},
                                   .compression = compression::TopK()};
  run_ranks(2, [&](Communicator& world) {
    OutOfMemoryOnce some(world);
    SmallNet net;
    ParameterArena arena(net);
    DistributedOptimizer optimizer(make_adam(), some, options);
    optimizer.attach(arena);
    for (int step = 0; step < 3; ++step) {
      arena.zero_gradients();
      some.is_short = step == 1;
      net.loss(make_samples(step * 6 + world.rank() * 3, 3)).backward();
      if (step == 1)
        EXPECT_THROW(optimizer.step({.samples = 3}), CollectiveError);
      else
        EXPECT_EQ(optimizer.step({.samples = 3}), 6);
    }
  });
}

TEST(DistributedOptimizer, NeedsAnOptimizer) {
  run_ranks(1, [](Communicator& world) { EXPECT_THROW(DistributedOptimizer(nullptr, world), UsageError); });
}

}  // namespace
}  // namespace ronde::test
