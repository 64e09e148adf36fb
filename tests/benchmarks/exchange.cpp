// What the ways to exchange gradients send and cost, for the MNIST net's 1.2 million parameters; under
// mpirun. See README.md.
#include <cstdio>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/distributed/runtime.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>

#include "stopwatch.h"

namespace bench {
namespace {

using namespace ronde;

constexpr int kSteps = 30;

struct Way {
  const char* name;
  DistributedOptions options;
};

std::vector<Way> ways() {
  return {{"sums", {}},
          {"bf16", {.compression = compression::Bf16{}}},
          {"fp16", {.compression = compression::Fp16{}}},
          {"top-k 1 %", {.compression = compression::TopK{0.01}}},
          {"power-sgd 4", {.compression = compression::PowerSgd{4}}},
          {"adasum", {.combine = Combine::adasum}},
          {"local steps, 8", {.local_steps = {.period = 8}}},
          {"sharded state", {.state = StateLayout::sharded}}};
}

// Steps without a backward pass: the exchange and the update alone.
void measure(Communicator& world, const Way& way) {
  Sequential net(Conv2D({.filters = 32}), Conv2D({.filters = 64}), MaxPooling2D(), Flatten(),
                 Dense({.units = 128}), Dense({.units = 10}));
  net.build({28, 28, 1}, {});
  ParameterArena arena(net);
  DistributedOptimizer optimizer(std::make_unique<Adam>(), world, way.options);
  optimizer.attach(arena);
  const Tensor gradients = arena.gradients().view(0, {arena.trainable_size()});
  auto* values = gradients.data<float>();
  std::vector<double> wall, cpu;
  for (int step = 0; step < kSteps; ++step) {
    for (std::int64_t i = 0; i < gradients.count(); ++i)
      values[i] = 1e-3f * static_cast<float>((i * 7919 + step * 31 + world.rank()) % 1009 - 504);
    world.barrier().wait();
    optimizer.expect({.samples = 1});
    const Stopwatch watch;
    const double before = processor_seconds();
    optimizer.step({.samples = 1});
    cpu.push_back(processor_seconds() - before);
    wall.push_back(watch.seconds());
  }
  const ExchangeStatistics sent = optimizer.statistics();
  std::size_t state = 0;
  for (const OptimizerSlot& slot : optimizer.optimizer().slots()) state += slot.values.byte_size();
  if (world.rank() == 0)
    std::printf("%-16s %10.3f %10.2f %10.2f %10.2f\n", way.name,
                1e-6 * static_cast<double>(sent.bytes_sent) / static_cast<double>(sent.steps),
                1e3 * median(cpu), 1e3 * median(wall), 1e-6 * static_cast<double>(state));
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return ronde::run_main(argc, argv, [](ronde::Communicator& world) {
    if (world.rank() == 0)
      std::printf("%d ranks, %s\n%-16s %10s %10s %10s %10s\n", world.size(), world.transport().c_str(), "",
                  "MB sent", "CPU ms", "wall ms", "state MB");
    for (const bench::Way& way : bench::ways()) bench::measure(world, way);
  });
}
