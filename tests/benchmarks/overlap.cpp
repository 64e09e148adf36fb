// How much of the communication of a training step hides behind its computation, and how much of the speed of
// independent processes ranks that train together keep; see README.md.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/communicator.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/self_communicator.h>

#include "stopwatch.h"
#include "training_step.h"

namespace bench {
namespace {

using namespace ronde;

constexpr int kStepsPerTurn = 10;

double own_thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Passes everything on, and counts the seconds that the calling thread spends on operations: waiting for
/// them, and starting them, which the worker thread may use to take its processor.
class WaitMeter final : public Communicator {
 public:
  explicit WaitMeter(Communicator& inner) : inner_(&inner) {}
  double take_seconds() { return std::exchange(*seconds_, 0.0); }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int local_rank() const override { return inner_->local_rank(); }
  int local_size() const override { return inner_->local_size(); }
  int cross_rank() const override { return inner_->cross_rank(); }
  int cross_size() const override { return inner_->cross_size(); }
  std::string name() const override { return inner_->name(); }
  Work start(Collective call) override {
    const Stopwatch watch;
    Work work = inner_->start(std::move(call));
    *seconds_ += watch.seconds();
    return Work(std::make_shared<Timed>(std::move(work), seconds_));
  }
  Work sequence(const std::string& call, std::function<void(Communicator&)> body) override {
    const Stopwatch watch;
    Work work = inner_->sequence(call, std::move(body));
    *seconds_ += watch.seconds();
    return Work(std::make_shared<Timed>(std::move(work), seconds_));
  }
  Tensor shared_tensor(const Shape& shape, TensorOptions options) override {
    return inner_->shared_tensor(shape, options);
  }
  std::unique_ptr<Communicator> split(int color, int key) override { return inner_->split(color, key); }
  bool conclude(const Ending& ending) override { return inner_->conclude(ending); }

 private:
  struct Timed final : Work::State {
    Timed(Work work, std::shared_ptr<double> seconds)
        : work_(std::move(work)), seconds_(std::move(seconds)) {}
    bool done() override { return work_.done(); }
    void wait() override {
      const Stopwatch watch;
      work_.wait();
      *seconds_ += watch.seconds();
    }
    bool wait_for(double seconds) override { return work_.wait_for(seconds); }
    Work work_;
    std::shared_ptr<double> seconds_;
  };

  Communicator* inner_;
  std::shared_ptr<double> seconds_ = std::make_shared<double>(0.0);
};

struct Turns {
  std::vector<double> seconds, processor;  // of a step
  std::vector<double> other_threads;       // processor time of a step: the communication's thread
  std::vector<double> waits;               // of each step

  void take(TrainingStep& step, WaitMeter& meter) {
    const double before = processor_seconds(), own = own_thread_seconds();
    const Stopwatch watch;
    for (int k = 0; k < kStepsPerTurn; ++k) {
      meter.take_seconds();
      step.run();
      waits.push_back(meter.take_seconds());
    }
    seconds.push_back(watch.seconds() / kStepsPerTurn);
    processor.push_back((processor_seconds() - before) / kStepsPerTurn);
    other_threads.push_back(processor.back() - (own_thread_seconds() - own) / kStepsPerTurn);
  }
};

// Of the sum over ranks of all gradients, with nothing else to do.
double time_communication(Communicator& world, const ParameterArena& arena) {
  const Tensor data = world.shared_tensor(arena.gradients().shape(), arena.gradients().options());
  std::vector<double> times;
  for (int k = 0; k < 100; ++k) {
    data.fill(0.0);
    world.barrier().wait();
    const Stopwatch watch;
    world.allreduce(data).wait();
    times.push_back(watch.seconds());
  }
  return median(times);
}

void measure(Communicator& world, const std::string& net, std::int64_t batch, int turns, StateLayout state) {
  default_backend().threads().resize(1);
  SelfCommunicator self;
  WaitMeter nobody(self), meter(world);
  TrainingStep alone(net, batch, &nobody), together(net, batch, &meter, {.state = state});
  Turns apart, joint;
  for (int turn = -2; turn < turns; ++turn) {
    Turns warm_up;
    world.barrier().wait();
    (turn < 0 ? warm_up : apart).take(alone, nobody);
    world.barrier().wait();
    (turn < 0 ? warm_up : joint).take(together, meter);
  }
  const double worker = median(joint.other_threads);
  const double communication = time_communication(world, together.arena());
  std::vector<double> kept, processor;
  for (std::size_t t = 0; t < apart.seconds.size(); ++t) {
    kept.push_back(apart.seconds[t] / joint.seconds[t]);
    processor.push_back(joint.processor[t] / apart.processor[t] - 1.0);
  }
  // The rank that comes last waits for nothing but the communication; the others wait for it too.
  allreduce_values(world, joint.waits, Reduction::min);
  const double exposed = median(joint.waits), undisturbed = quantile(joint.waits, 0.25);
  if (world.rank() > 0) return;
  std::printf(
      "%s, batch %lld, %s, 1 thread each%s\n"
      "step alone      %8.3f ms\nstep together   %8.3f ms, %.1f %% of the speed of independent processes\n"
      "communication   %8.3f ms when nothing else runs; exposed on the rank that comes last\n"
      "                %8.3f ms (%.0f %%) in the median step, %.3f ms (%.0f %%) in the best quarter\n"
      "worker thread   %8.3f ms of processor time (%.1f %% of a step's); the whole process %+.1f %%\n",
      net.c_str(), static_cast<long long>(batch), world.transport().c_str(),
      state == StateLayout::sharded ? ", sharded state" : "", median(apart.seconds) * 1e3,
      median(joint.seconds) * 1e3, 100.0 * median(kept), communication * 1e3, exposed * 1e3,
      100.0 * exposed / communication, undisturbed * 1e3, 100.0 * undisturbed / communication, worker * 1e3,
      100.0 * worker / median(apart.processor), 100.0 * median(processor));
}

}  // namespace
}  // namespace bench

// ronde_bench_overlap [mnist|cifar10] [batch] [turns] [sharded]
int main(int argc, char** argv) {
  return ronde::run_main(argc, argv, [&](ronde::Communicator& world) {
    bench::measure(world, argc > 1 ? argv[1] : "mnist", argc > 2 ? std::atoll(argv[2]) : 32,
                   argc > 3 ? std::atoi(argv[3]) : 20,
                   argc > 4 && argv[4] == std::string("sharded") ? ronde::StateLayout::sharded
                                                                 : ronde::StateLayout::replicated);
  });
}
