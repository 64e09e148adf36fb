// Training steps of the two nets, alone and together.
#include <algorithm>
#include <utility>

#include <ronde/data/in_memory_dataset.h>
#include <ronde/distributed/values.h>
#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/model.h>
#include <ronde/nn/adam.h>

#include "ronde/bench_facts.h"

namespace ronde::apps {
namespace {

struct Net {
  const char* name;
  std::unique_ptr<Module> (*make)();
  Shape input;
  std::int64_t batch;
  double flop_per_image;  ///< of a training step, convolutions counted directly
};

std::vector<Net> nets() {
  return {
      {"MNIST", []() -> std::unique_ptr<Module> { return mnist_cnn(); }, {28, 28, 1}, 128, 71.565e6},
      {"CIFAR-10", []() -> std::unique_ptr<Module> { return cifar10_cnn(); }, {32, 32, 3}, 32, 122.677e6}};
}

/// Grey noise; what is in the pictures does not matter.
InMemoryDataset noise(const Net& net, std::int64_t count) {
  const Tensor pixels =
      Tensor::empty({count, net.input[0], net.input[1], net.input[2]}, {.dtype = DType::u8});
  for (std::int64_t i = 0; i < pixels.count(); ++i)
    pixels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 % 251);
  const Tensor labels = Tensor::zeros({count}, {.dtype = DType::i32});
  return {pixels, labels, {.scale = 1.0 / 255}};
}

/// A model that trains for some steps and says how fast.
class Runner {
 public:
  Runner(const Net& net, Communicator* communicator)
      : batch_(net.batch),
        data_(noise(net, net.batch * (communicator ? communicator->size() : 1))),
        model_(net.make(), net.input, {.communicator = communicator}) {
    model_.compile(
        {.optimizer = std::make_unique<Adam>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  }

  /// Images per second of all its ranks.
  double run(std::int64_t steps) {
    model_.fit(data_, {.batch_size = batch_,
                       .steps_per_epoch = steps,
                       .repeat = true,
                       .micro_batch = 64,
                       .verbose = 0,
                       .warn = [](const std::string&) {}});  // the bench says it itself
    return model_.progress().epoch_images_per_second;
  }
  double gradient_bytes() { return 4.0 * static_cast<double>(model_.module().parameter_count()); }

 private:
  std::int64_t batch_;
  InMemoryDataset data_;
  Model model_;
};

/// Images per second of all ranks, one after the other.
struct Pair {
  double alone = 0.0, together = 0.0;
};

/// The one in the middle by efficiency: other programs disturb neighbours alike.
Pair median(std::vector<Pair> pairs) {
  const auto middle = pairs.begin() + std::ssize(pairs) / 2;
  std::nth_element(pairs.begin(), middle, pairs.end(), [](const Pair& a, const Pair& b) {
    return std::pair(a.together / a.alone, a.alone) < std::pair(b.together / b.alone, b.alone);
  });
  return *middle;
}

/// As many as take that long on the slowest rank.
std::int64_t steps_for(Communicator& world, double images_per_second, const Net& net, double seconds) {
  const double own = seconds * images_per_second / static_cast<double>(net.batch);
  return static_cast<std::int64_t>(
      std::clamp(allreduce_value(world, own, {.op = Reduction::min}).wait(), 3.0, 300.0));
}

TrainingSpeed measure(Communicator& world, const Net& net, const BenchOptions& options) {
  Runner alone(net, nullptr);
  const std::int64_t steps = steps_for(world, alone.run(4), net, options.seconds_per_run);
  std::optional<Runner> together;
  if (world.size() > 1) together.emplace(net, &world).run(3);
  std::vector<Pair> pairs;
  for (int run = 0; run < options.runs; ++run) {
    world.barrier().wait();
    Pair& pair = pairs.emplace_back();
    pair.alone = allreduce_value(world, alone.run(steps), {.op = Reduction::sum}).wait();
    if (together) pair.together = together->run(steps);
  }
  const Pair speed = median(std::move(pairs));
  return {.net = net.name,
          .batch = net.batch,
          .gradient_bytes = alone.gradient_bytes(),
          .flop_per_image = net.flop_per_image,
          .alone = speed.alone,
          .together = speed.together};
}

}  // namespace

std::vector<TrainingSpeed> measure_training(Communicator& world, const BenchOptions& options) {
  std::vector<TrainingSpeed> speeds;
  for (const Net& net : nets()) speeds.push_back(measure(world, net, options));
  return speeds;
}

}  // namespace ronde::apps
