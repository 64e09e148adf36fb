// Time of a step, on the processor and by the clock, and bytes that each rank sends, of nets from 1 to 100
// million weights; see README.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/scaling_model.h>
#include <ronde/distributed/self_communicator.h>
#include <ronde/distributed/values.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "stopwatch.h"

namespace bench {
namespace {

using namespace ronde;

constexpr std::int64_t kBatch = 16;

struct Size {
  std::int64_t layers, width;
};
constexpr Size kSizes[] = {{4, 512}, {10, 1024}, {25, 2048}};  // 1, 10 and 105 million weights

/// Dense layers of one width, trained with SGD: as many bytes of gradients as the net has weights.
class Step {
 public:
  Step(Size size, Communicator& communicator)
      : optimizer_(std::make_unique<SGD>(SGDOptions{.learning_rate = 1e-9}), communicator),
        input_(Tensor::full({kBatch, size.width}, 0.01)) {
    for (std::int64_t i = 0; i < size.layers; ++i) layers_.add(Dense({.units = size.width}));
    layers_.build({size.width});
    arena_ = std::make_unique<ParameterArena>(layers_);
    optimizer_.attach(*arena_);
  }

  void run() {
    arena_->zero_gradients();
    sum(layers_(input_, {.training = true})).backward();
    optimizer_.step({.samples = kBatch});
  }
  std::int64_t weights() const { return layers_.parameter_count(); }

 private:
  Sequential layers_;
  std::unique_ptr<ParameterArena> arena_;
  DistributedOptimizer optimizer_;
  Tensor input_;
};

/// That the loopback interface has carried since the machine started: what ranks on one machine send each
/// other when MPI uses TCP.
double loopback_bytes() {
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    const std::size_t name = line.find("lo:");
    if (name != std::string::npos) return std::strtod(line.c_str() + name + 3, nullptr);
  }
  return 0.0;
}

/// The median, of the slowest rank.
double median(Communicator& world, const std::vector<double>& seconds) {
  return allreduce_value(world, bench::median(seconds), {.op = Reduction::max}).wait();
}

double time_step(Step& step) {
  const Stopwatch watch;
  step.run();
  return watch.seconds();
}

/// As many as take a second or so, at least five.
int step_count(Communicator& world, Step& step) {
  step.run();
  return std::clamp(static_cast<int>(1.0 / median(world, {time_step(step)})), 5, 200);
}

/// A step; of a rank on average, but for the time.
struct Measured {
  double seconds = 0.0;    ///< of the slowest rank
  double processor = 0.0;  ///< seconds
  double sent = 0.0;       ///< bytes
  std::int64_t weights = 0;
};

/// `communicator` is of all ranks or of this one alone; they begin together.
Measured measure(Communicator& world, Communicator& communicator, Size size) {
  Step step(size, communicator);
  const int steps = step_count(world, step);
  std::vector<double> times;
  world.barrier().wait();
  const double sent = loopback_bytes(), processor = processor_seconds();
  for (int i = 0; i < steps; ++i) times.push_back(time_step(step));
  const double used = (processor_seconds() - processor) / steps;
  world.barrier().wait();
  return {.seconds = median(world, times),
          .processor = allreduce_value(world, used).wait(),
          .sent = (loopback_bytes() - sent) / steps / world.size(),
          .weights = step.weights()};
}

/// One net at a time: the largest one takes a gigabyte of each rank.
void print_row(Communicator& world, Size size) {
  SelfCommunicator self;
  const Measured alone = measure(world, self, size), together = measure(world, world, size);
  const double formula = allreduce_bytes_per_rank(world.size(), 4.0 * static_cast<double>(together.weights));
  if (world.rank() != 0) return;
  std::printf("| %d | %.1f M | %.1f | %.1f | %.1f | %.1f | ", world.size(),
              static_cast<double>(together.weights) * 1e-6, alone.processor * 1e3, together.processor * 1e3,
              together.seconds * 1e3, formula * 1e-6);
  // Less than this is other programs' chatter.
  const bool has_sent = together.sent > 0.1 * formula && formula > 0.0;
  std::printf("%s |\n", has_sent ? cat(std::round(together.sent * 1e-5) / 10).c_str() : "-");
  std::fflush(stdout);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return ronde::run_main(argc, argv, [&](ronde::Communicator& world) {
    if (world.rank() == 0)
      std::printf(
          "%s, %d threads each\n"
          "| ranks | weights | processor ms alone | together | time ms | formula MB | sent MB |\n"
          "|---|---|---|---|---|---|---|\n",
          world.transport().c_str(), ronde::default_backend().threads().size());
    const std::size_t count = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 3;
    for (std::size_t i = 0; i < std::min(count, std::size(bench::kSizes)); ++i)
      bench::print_row(world, bench::kSizes[i]);
  });
}
