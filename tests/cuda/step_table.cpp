// The kernels of a training step on a GPU and the memory that they go through, counted by the fake device:
// what a step cannot be faster than is known before there is a GPU.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/cifar_resnet.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/models/model.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/rmsprop.h>
#include <ronde/nn/sgd.h>

#include "cuda/call_text.h"
#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

struct Launch {
  std::string text;              ///< "dense (128, 128) <- (128, 9216) (9216, 128) (128)"
  double read = 0, written = 0;  ///< MB
};

// A tensor that is given twice is read once.
bool is_repeated(const cuda::Call& call, int i) {
  for (int before = call.outputs; before < i; ++before)
    if (call[before].data == call[i].data) return true;
  return false;
}

Launch describe(const cuda::Call& call) {
  Launch launch{to_string(call)};
  for (int i = 0; i < call.operands; ++i) {
    if (!call[i].defined || is_repeated(call, i)) continue;
    const double bytes = static_cast<double>(call[i].reach()) * static_cast<double>(size_of(call[i].dtype));
    (i < call.outputs ? launch.written : launch.read) += bytes / 1e6;
  }
  launch.written += static_cast<double>(call.rounded.reach() * 2) / 1e6;
  return launch;
}

struct Net {
  const char* name;
  Shape input;
  std::unique_ptr<Module> (*make)();
  std::unique_ptr<Optimizer> (*optimizer)();
};

struct Precision {
  const char* name;
  std::optional<DType> compute_dtype;
  bool has_plans = true;      ///< false: libraries have nothing for bf16
  bool likes_floats = false;  ///< true: they take float copies for gradients of convolutions' weights
};

struct Step {
  std::vector<Launch> launches;
  std::int64_t in_float = 0;  ///< operations that are given float copies
  std::vector<std::string> why;
};

std::int64_t operations_in_float(FakeDevice& device) {
  std::int64_t calls = 0;
  for (const auto& entry : device.backend.detours().entries()) calls += entry.calls;
  return calls;
}

Step second_step(const Net& net, std::int64_t batch, const Precision& precision) {
  Step step;
  FakeDevice device({.computes = false,
                     .plans_bfloat16 = precision.has_plans,
                     .likes_floats = precision.likes_floats,
                     .on_launch = [&](const cuda::Call& call) { step.launches.push_back(describe(call)); }});
  Model model(net.make(), net.input, {.backend = &device.backend, .compute_dtype = precision.compute_dtype});
  model.compile({.optimizer = net.optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
  const Tensor inputs = Tensor::zeros(net.input.batch_of(batch)),
               labels = Tensor::zeros({batch}, {.dtype = DType::i32});
  model.train_on_batch(inputs, labels);
  step.launches.clear();  // the first step makes plans and states
  const std::int64_t before = operations_in_float(device);
  model.train_on_batch(inputs, labels);
  step.in_float = operations_in_float(device) - before;
  step.why = device.backend.detours().take_news();
  return step;
}

void print(const Net& net, std::int64_t batch, const Precision& precision) {
  Launch all;
  std::printf("\n%s, batch %lld, %s\n\n| read MB | written MB | kernel: outputs <- inputs |\n|---|---|---|\n",
              net.name, static_cast<long long>(batch), precision.name);
  const Step step = second_step(net, batch, precision);
  for (const Launch& launch : step.launches) {
    std::printf("| %.2f | %.2f | %s |\n", launch.read, launch.written, launch.text.c_str());
    all.read += launch.read;
    all.written += launch.written;
  }
  std::printf("| **%.1f** | **%.1f** | **%zu kernels** |\n", all.read, all.written, step.launches.size());
  std::printf("\n%lld operations by float copies\n", static_cast<long long>(step.in_float));
  for (const std::string& line : step.why) std::printf("* %s\n", line.c_str());
}

const Net kNets[] = {
    {"mnist",
     {28, 28, 1},
     [] { return std::unique_ptr<Module>(mnist_cnn()); },
     [] { return std::unique_ptr<Optimizer>(std::make_unique<Adadelta>()); }},
    {"cifar",
     {32, 32, 3},
     [] { return std::unique_ptr<Module>(cifar10_cnn()); },
     [] { return std::unique_ptr<Optimizer>(std::make_unique<RMSprop>()); }},
    {"resnet20",
     {32, 32, 3},
     [] { return std::unique_ptr<Module>(resnet20()); },
     [] { return std::unique_ptr<Optimizer>(std::make_unique<SGD>(SGDOptions{.momentum = 0.9})); }},
};

const Precision kPrecisions[] = {
    {"float32", std::nullopt},
    {"mixed_bfloat16", DType::bf16},
    {"mixed_bfloat16-without-plans", DType::bf16, false},
    {"mixed_bfloat16-by-floats", DType::bf16, true, true},
};

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const long long batch = given.size() == 2 || given.size() == 3 ? std::atoll(given[1].c_str()) : 0;
  for (const Net& net : kNets)
    for (const Precision& precision : kPrecisions)
      if (batch > 0 && given[0] == net.name && (given.size() == 3 ? given[2] : "float32") == precision.name) {
        print(net, batch, precision);
        return 0;
      }
  std::fprintf(stderr,
               "usage: %s mnist|cifar|resnet20 BATCH [float32|mixed_bfloat16[-without-plans|-by-floats]]\n",
               words[0]);
  return 2;
}

}  // namespace
}  // namespace ronde::test

int main(int count, char** words) {
  return ronde::test::main(count, words);
}
