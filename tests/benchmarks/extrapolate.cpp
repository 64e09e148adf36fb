// What training should take on up to 1,000 ranks, by the alpha-beta model; see README.md.
#include <cstdio>

#include <ronde/distributed/scaling_model.h>

namespace bench {
namespace {

using namespace ronde;

struct Network {
  const char* name;
  Link link;
};

/// Half a round trip of MPI over such a network, and its line rate.
constexpr Network kNetworks[] = {{"25 Gb/s", {.latency = 15e-6, .seconds_per_byte = 8 / 25e9}},
                                 {"400 Gb/s", {.latency = 2e-6, .seconds_per_byte = 8 / 400e9}}};

struct Net {
  const char* name;
  double weights;
  double step;  ///< seconds of a rank's forward and backward pass
};

/// Of a training step of a 224x224 image: three times 4.1 G multiply-adds.
constexpr double kResNet50 = 24.6e9;

/// Per rank, batches of 128 and 32: the first two at speeds of two cores of a Zen 5 with direct convolutions,
/// 4,417 and 2,370 images a second, the third at the first one's rate of arithmetic, 316 GF/s, and at an
/// assumed 50 TF/s of an accelerator.
constexpr Net kNets[] = {{"MNIST", 1'199'882, 128 / 4417.0},
                         {"CIFAR-10", 1'250'858, 32 / 2370.0},
                         {"ResNet-50, 2 cores", 25'557'032, 32 * kResNet50 / 316e9},
                         {"ResNet-50, 50 TF/s", 25'557'032, 32 * kResNet50 / 50e12}};

void print_row(const Net& net, const Network& network) {
  const StepCost step{
      .forward = net.step / 3, .backward = net.step * 2 / 3, .buckets = cut_into_buckets(4 * net.weights)};
  StepCost one_piece = step;
  one_piece.buckets = {4 * net.weights};
  std::printf("| %s | %s | %.1f |", net.name, network.name, net.step * 1e3);
  for (const int ranks : {2, 16, 128, 1000}) {
    const auto allreduce = [&](double bytes) { return allreduce_seconds(ranks, bytes, network.link); };
    std::printf(" %.1f (%.1f) |", 100 * step_efficiency(step, allreduce),
                100 * step_efficiency(one_piece, allreduce));
  }
  std::printf("\n");
}

}  // namespace
}  // namespace bench

int main() {
  std::printf("| net | network | step ms | 2 | 16 | 128 | 1000 ranks |\n|---|---|---|---|---|---|---|\n");
  for (const bench::Net& net : bench::kNets)
    for (const bench::Network& network : bench::kNetworks) bench::print_row(net, network);
}
