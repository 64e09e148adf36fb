// Devices of several ranks, on fakes: what comes before what, and what goes wrong.
#include <ronde/core/device_group.h>
#include <ronde/distributed/nccl_communicator.h>

#include "cuda/captured_step.h"
#include "cuda/fake_device.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

FakeOptions with_id(FakeOptions options, int rank) {
  options.id = cat("fake:", rank);
  options.seed += static_cast<std::uint64_t>(rank);
  return options;
}

/// A rank with a device of its own.
struct GpuRank {
  explicit GpuRank(Communicator& host_in, FakeOptions options = {}, cuda::CudaBackendOptions wishes = {})
      : host(host_in),
        device(with_id(options, host.rank()), wishes),
        gpus(make_nccl_communicator(host, device.backend)) {}

  Tensor vector(std::vector<float> values) {
    return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values, &device.backend);
  }

  FakeCollectives& library() { return device.runtime.ranks(); }
  Tensor shared(std::int64_t count) { return gpus->shared_tensor({count}, {.backend = &device.backend}); }
  /// A group beside the communicator's.
  std::unique_ptr<DeviceGroup> group() {
    const std::string id =
        broadcast_string(host, host.rank() == 0 ? DeviceGroup::make_id(device.backend) : "");
    return std::make_unique<DeviceGroup>(device.backend, id, host.rank(), host.size());
  }

  Communicator& host;
  FakeDevice device;
  std::unique_ptr<Communicator> gpus;
};

std::string text_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

/// The second half of a shared tensor is summed, the first one stays.
void expect_sums(GpuRank& self, const Tensor& x) {
  x.fill(self.host.rank() + 1);
  const std::int64_t half = x.count() / 2;
  self.gpus->allreduce(x.view(half, {half})).wait();
  std::vector<float> expected(static_cast<std::size_t>(half), static_cast<float>(self.host.rank() + 1));
  expected.resize(static_cast<std::size_t>(x.count()),
                  static_cast<float>(self.host.size() * (self.host.size() + 1) / 2));
  EXPECT_EQ(x.to_vector<float>(), expected);
}

TEST(NcclCommunicator, CarriesTensorsOfTheGpu) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host);
    const auto r = static_cast<float>(host.rank());
    const Tensor sum = self.vector({r, 1}), mean = self.vector({r, 6}), root = self.vector({r}),
                 top = self.vector({r});
    self.gpus->allreduce(sum).wait();
    self.gpus->allreduce(mean, Reduction::average).wait();
    self.gpus->allreduce(top, Reduction::max).wait();
    self.gpus->broadcast(root, 2).wait();
    EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{3, 3}));
    EXPECT_EQ(mean.to_vector<float>(), (std::vector<float>{1, 6}));
    EXPECT_EQ(top.to_vector<float>(), std::vector<float>{2});
    EXPECT_EQ(root.to_vector<float>(), std::vector<float>{2});
    const Tensor all = Tensor::zeros({3, 2}, sum.options()), mine = Tensor::full({1, 2}, r, sum.options());
    self.gpus->allgather(all, mine).wait();
    EXPECT_EQ(all.to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 2, 2}));
    const Tensor part = Tensor::zeros({1, 2}, sum.options());
    self.gpus->reduce_scatter(part, all).wait();
    EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{3 * r, 3 * r}));
  });
}

TEST(NcclCommunicator, WhatItBringsIsSeenByRoundedCopies) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const Tensor weights = self.vector(std::vector<float>(16, static_cast<float>(host.rank())));
    Backend& backend = self.device.backend;
    const std::shared_ptr<const void> kept = backend.keep_rounded(weights);
    backend.rounded(weights);
    self.gpus->broadcast(weights, 1).wait();
    EXPECT_EQ(backend.rounded(weights).to_vector<float>(), std::vector<float>(16, 1.0f));
    self.gpus->allreduce(weights).wait();
    EXPECT_EQ(backend.rounded(weights).to_vector<float>(), std::vector<float>(16, 2.0f));
  });
}

TEST(NcclCommunicator, TheRarerVerbsGoByTheHost) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const auto r = static_cast<float>(host.rank());
    const Tensor scaled = self.vector({r + 1});
    self.gpus->allreduce(scaled, {.op = Reduction::sum, .postscale = 2.0}).wait();
    EXPECT_EQ(scaled.to_vector<float>(), std::vector<float>{6});
    const Tensor rows = self.gpus->allgather(Tensor::full({1 + host.rank(), 1}, r, scaled.options())).wait();
    EXPECT_EQ(&rows.backend(), &self.device.backend);
    EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{0, 1, 1}));
    std::vector<double> values{1.0};
    allreduce_values(*self.gpus, values);  // of the host
    EXPECT_EQ(values[0], 2.0);
  });
}

// NCCL's own smallest and largest would lose it: these go by the host.
TEST(NcclCommunicator, KeepsANanOfOneRank) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host);
    for (const Reduction op : {Reduction::min, Reduction::max, Reduction::sum})
      for (const DType dtype : {DType::f32, DType::f64})
        for (const int odd : {0, 1, 2}) {
          std::vector<double> values{1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
          if (host.rank() == odd) values[1] = values[4] = std::nan("");
          const Tensor all = Tensor::from<double>({6}, values, &self.device.backend).to(dtype);
          const Tensor part = Tensor::zeros({2}, all.options());
          self.gpus->reduce_scatter(part, all, op).wait();
          self.gpus->allreduce(all, op).wait();
          const std::vector<double> result = all.to_vector<double>(), own = part.to_vector<double>();
          for (std::size_t i = 0; i < 6; ++i) {
            const bool is_own = i / 2 == static_cast<std::size_t>(host.rank());
            const bool is_nan = i == 1 || i == 4;
            EXPECT_EQ(std::isnan(result[i]), is_nan) << to_string(op) << ' ' << odd << ' ' << i;
            EXPECT_TRUE(!is_own || std::isnan(own[i % 2]) == is_nan)
                << to_string(op) << ' ' << odd << ' ' << i;
          }
        }
  });
}

TEST(NcclCommunicator, IntegersHaveNoNans) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const Tensor low =
        Tensor::full({3}, host.rank() - 1, {.dtype = DType::i32, .backend = &self.device.backend});
    const std::int64_t before = self.device.runtime.ranks().calls();
    self.gpus->allreduce(low, Reduction::min).wait();
    EXPECT_EQ(low.to_vector<double>(), std::vector<double>(3, -1.0));
    EXPECT_EQ(self.device.runtime.ranks().calls(), before + 1);
  });
}

// One rank's GPU is full: an error of all, after which all go on.
TEST(NcclCommunicator, MemoryThatOneGpuLacks) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host, {.memory = std::size_t{host.rank() == 1 ? 4U : 64U} << 20});
    const auto expect_all_refuse = [&](const auto& f) {
      try {
        f();
        ADD_FAILURE() << "no error";
      } catch (const CollectiveError& error) {
        EXPECT_EQ(std::string(error.what()).find("[cuda] out of memory"), 0U) << error.what();
        EXPECT_EQ(error.rank(), 1);
      }
      const Tensor one = self.vector({1});
      self.gpus->allreduce(one).wait();
      EXPECT_EQ(one.to_vector<float>(), std::vector<float>{3});
    };
    const Tensor rows = Tensor::zeros({500, 1000}, {.backend = &self.device.backend});
    expect_all_refuse([&] { self.gpus->shared_tensor({2, 1000, 1000}, rows.options()); });
    expect_all_refuse([&] { self.gpus->allgather(rows).wait(); });
  });
}

TEST(NcclCommunicator, DifferentCallsAreAnErrorOnEachRank) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const Tensor x = self.vector(std::vector<float>(host.rank() == 0 ? 2 : 3, 1.0f));
    EXPECT_THROW(self.gpus->allreduce(x).wait(), CollectiveError);
    const Tensor y = self.vector({1});
    self.gpus->allreduce(y).wait();  // it stays usable
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>{2});
  });
}

TEST(NcclCommunicator, EachRankNeedsAGpuOfItsOwn) {
  run_ranks(2, [](Communicator& host) {
    FakeDevice device;
    expect_error([&] { make_nccl_communicator(host, device.backend); },
                 "ranks 0 and 1 have the same GPU (Fake GPU");
    expect_error([&] { make_nccl_communicator(host, backend("cpu")); }, "is no GPU");
  });
}

TEST(DeviceGroup, HasAnEventForEachOrder) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    for (int i = 0; i < 10; ++i) {
      const Tensor x = filled(self.device.backend, {64}, i);  // given just before
      const Work sum = self.gpus->allreduce(x);
      const Tensor y = filled(self.device.backend, {64}, 1.0);  // beside it
      sum.wait();
      self.device.backend.accumulate(x, y, 1.0);  // just after
      EXPECT_EQ(x.to_vector<float>(), repeated(64, static_cast<float>(2 * i + 1)));
    }
  });
}

// The test of the test above: without events it does not pass.
TEST(DeviceGroup, WithoutEventsIsRefused) {
  run_ranks(1, [](Communicator& host) {
    GpuRank self(host, {.is_deaf = true});
    const Tensor x = filled(self.device.backend, {64}, 1.0);
    expect_error([&] { self.gpus->allreduce(x).wait(); }, "no event says which comes first");
  });
}

TEST(DeviceGroup, IsPartOfACapturedStep) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const std::string id =
        broadcast_string(host, host.rank() == 0 ? DeviceGroup::make_id(self.device.backend) : "");
    DeviceGroup group(self.device.backend, id, host.rank(), 2);
    const Tensor input = filled(self.device.backend, {8}, 0.0), out = filled(self.device.backend, {8}, 0.0);
    cuda::CapturedStep step(self.device.backend);
    for (int i = 1; i <= 5; ++i) {
      input.fill(i * (host.rank() + 1));
      step.run([&] {
        out.copy_from(input);
        const auto sum = group.start({.out = out, .in = out});
        sum->join();
        self.device.backend.accumulate(out, input, 1.0);
      });
      EXPECT_EQ(step.is_captured(), i >= 3) << step.fallback();
      EXPECT_EQ(out.to_vector<float>(), repeated(8, static_cast<float>(i * (3 + host.rank() + 1))));
    }
    EXPECT_EQ(self.device.runtime.replays(), 3);
  });
}

TEST(Windows, AreOpenOnAllRanks) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host);
    for (int i = 1; i <= 3; ++i) {
      const Tensor first = self.shared(64), second = self.shared(6000);
      EXPECT_EQ(self.library().windows(), 2);
      EXPECT_EQ(self.library().enrolled(), 0);
      EXPECT_EQ(second.to_vector<float>(), repeated(6000, 0.0f));
      expect_sums(self, first);
      expect_sums(self, second);
    }
    EXPECT_EQ(self.library().opened(), 6);
    EXPECT_EQ(self.library().windows(), 0);
    EXPECT_EQ(self.library().window_memory(), 0u);
  });
}

// Whatever is missing on one rank: the library's windows, the memory, or somebody's wish.
TEST(Windows, AreNotThereWhereOneRankHasNone) {
  for (const bool has_windows : {true, false})
    for (const bool wants_windows : {true, false})
      for (const bool has_memory : {true, false}) {
        if (has_windows && wants_windows && has_memory) continue;
        run_ranks(3, [&](Communicator& host) {
          const bool is_odd = host.rank() == 1;
          GpuRank self(host,
                       {.memory = std::size_t{is_odd && !has_memory ? 8U : 64U} << 20,
                        .has_windows = !is_odd || has_windows},
                       {.windows = !is_odd || wants_windows});
          constexpr std::int64_t count = 1'250'000;                   // 5 MB
          Tensor::zeros({count}, {.backend = &self.device.backend});  // which the allocator keeps
          const Tensor x = self.shared(count);
          EXPECT_EQ(self.library().windows(), 0);
          EXPECT_EQ(self.library().window_memory(), 0u);
          EXPECT_EQ(self.library().enrolled(), 1);
          expect_sums(self, x);
        });
      }
}

TEST(Windows, ThatOneRankCannotOpenAreAnErrorOfAll) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host, {.failing_window = host.rank() == 1});
    expect_error([&] { self.shared(64); }, "[nccl] opening a window for all ranks (RONDE_NCCL_WINDOWS=off");
    expect_error([&] { self.gpus->allreduce(self.vector({1})).wait(); }, "[nccl]");
    host.barrier().wait();
  });
}

// A tensor that an error unwinds past does not wait for what may never end.
TEST(Windows, AreGivenBackAfterAnError) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host, {.delayed_exchange = 1});
    try {
      const Tensor x = self.shared(64);
      self.gpus->allreduce(x);
      throw Error("on the way");
    } catch (const Error&) {
    }
    EXPECT_EQ(self.library().windows(), 1);
    const Tensor next = self.shared(64);
    EXPECT_EQ(self.library().windows(), 1);
    EXPECT_EQ(self.library().window_memory(), next.byte_size());
    expect_sums(self, next);
  });
}

TEST(Windows, AreClosedBeforeTheirGroupEnds) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const Tensor x = self.shared(64);
    expect_sums(self, x);
    self.gpus.reset();
    EXPECT_EQ(self.library().windows(), 0);
    EXPECT_EQ(x.to_vector<float>().front(), static_cast<float>(host.rank() + 1));
    EXPECT_EQ(self.library().window_memory(), x.byte_size());
  });
}

TEST(Windows, OfAGroupThatAnErrorEndsAreGivenBack) {
  run_ranks(2, [](Communicator& host) {
    FakeDevice device(with_id({}, host.rank()));
    try {
      const auto gpus = make_nccl_communicator(host, device.backend);
      const Tensor x = gpus->shared_tensor({64}, {.backend = &device.backend});
      throw Error("on the way");
    } catch (const Error&) {
    }
    EXPECT_EQ(device.runtime.ranks().window_memory(), 0u);
  });
}

// As after a training whose tensors outlive it: the window stays while a graph has calls on it.
TEST(Windows, StayWhileAGraphUsesThem) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const std::unique_ptr<DeviceGroup> group = self.group();
    Tensor x = group->enrolled_zeros({64}, {}, group->window_memory(256));
    {
      cuda::CapturedStep step(self.device.backend);
      for (int i = 0; i < 4; ++i) step.run([&] { group->start({.out = x, .in = x})->join(); });
      EXPECT_TRUE(step.is_captured()) << step.fallback();
      x = {};
      EXPECT_EQ(self.library().windows(), 1);
      EXPECT_EQ(self.library().window_memory(), 256u);
    }
    group->window_memory(256);
    EXPECT_EQ(self.library().windows(), 0);
    EXPECT_EQ(self.library().window_memory(), 0u);
  });
}

// The test of the fake: NCCL would hang.
TEST(Windows, AreOpenedByAllRanksAtTheSamePlace) {
  for (const bool same_size : {true, false}) {
    const auto errors = run_ranks_collecting(2, [&](Communicator& host) {
      GpuRank self(host);
      const Tensor x = self.vector({1});
      const std::unique_ptr<DeviceGroup> group = self.group();
      if (same_size && host.rank() == 1) group->start({.out = x, .in = x});
      const std::int64_t count = same_size || host.rank() == 1 ? 64 : 32;
      group->enrolled_zeros({count}, {}, group->window_memory(256));
    });
    int told = 0;  // the other may see its end first
    for (const std::exception_ptr& error : errors) told += text_of(error).ends_with("windows differ") ? 1 : 0;
    EXPECT_GE(told, 1) << text_of(errors[0]) << '\n' << text_of(errors[1]);
  }
}

// The test of the fake: NCCL would add up what does not belong together.
TEST(Windows, AreUsedAtTheSamePlace) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const Tensor x = self.shared(64);
    expect_error(
        [&] {
          self.gpus->allreduce(x.view(32 * host.rank(), {32})).wait();
          x.to_vector<float>();
        },
        "");
    expect_error([&] { x.to_vector<float>(); }, "the ranks' calls differ");
  });
}

TEST(Windows, AreNotMadeInsideACapture) {
  run_ranks(1, [](Communicator& host) {
    GpuRank self(host);
    const std::unique_ptr<DeviceGroup> group = self.group();
    const Tensor x = self.vector({1});
    cuda::CapturedStep step(self.device.backend);
    for (int i = 0; i < 4; ++i)
      step.run([&] {
        EXPECT_EQ(group->window_memory(256) == nullptr, group->is_capturing());
        x.fill(1.0);
      });
    EXPECT_TRUE(step.is_captured()) << step.fallback();
  });
}

TEST(DeviceGroup, ADelayChangesNothing) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host, {.delayed_exchange = host.rank() == 1 ? 1 : 0});
    const Tensor x = self.vector({1});
    self.gpus->allreduce(x).wait();
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>{2});
  });
}

TEST(DeviceGroup, AnErrorOfOneRankIsOneOfAll) {
  run_ranks(3, [](Communicator& host) {
    GpuRank self(host, {.failing_exchange = host.rank() == 1 ? 2 : 0});
    const Tensor x = self.vector({1});
    self.gpus->allreduce(x).wait();
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>{3});
    expect_error(
        [&] {
          self.gpus->allreduce(x).wait();  // the error may be known by now
          x.to_vector<float>();
        },
        host.rank() == 1 ? "unhandled system error" : "remote process exited or network error");
    expect_error([&] { self.gpus->allreduce(x).wait(); }, "[nccl]");
  });
}

TEST(DeviceGroup, GivingUpEndsAHang) {
  run_ranks(2, [](Communicator& host) {
    GpuRank self(host);
    const std::string id =
        broadcast_string(host, host.rank() == 0 ? DeviceGroup::make_id(self.device.backend) : "");
    DeviceGroup group(self.device.backend, id, host.rank(), 2);
    const Tensor x = self.vector({1});
    host.barrier().wait();
    if (host.rank() == 1) {
      while (group.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_NE(group.problem().find("remote process exited"), std::string::npos) << group.problem();
      return;
    }
    const auto sum = group.start({.out = x, .in = x});  // rank 1 never comes
    EXPECT_FALSE(sum->done());
    group.give_up("given up by the test");
    expect_error([&] { x.to_vector<float>(); }, "given up by the test");
    expect_error([&] { sum->join(); }, "given up by the test");
  });
}

}  // namespace
}  // namespace ronde::test
