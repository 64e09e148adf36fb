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

#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

constexpr const char* kNames[] = {"fill",
                                  "copy",
                                  "unary",
                                  "unary_backward",
                                  "binary",
                                  "accumulate",
                                  "reduce",
                                  "argmax",
                                  "sum_of_squares",
                                  "square_sums",
                                  "count_correct",
                                  "matmul",
                                  "dense",
                                  "gather_rows",
                                  "gather_scaled",
                                  "scatter_add_rows",
                                  "conv2d",
                                  "conv2d_backward_input",
                                  "conv2d_backward_weight",
                                  "max_pool2d",
                                  "max_pool2d_backward",
                                  "average_pool2d",
                                  "average_pool2d_backward",
                                  "softmax",
                                  "softmax_backward",
                                  "log_softmax",
                                  "log_softmax_backward",
                                  "softmax_cross_entropy",
                                  "softmax_cross_entropy_backward",
                                  "dropout",
                                  "batch_statistics",
                                  "batch_norm",
                                  "batch_norm_backward",
                                  "sgd_step",
                                  "rmsprop_step",
                                  "adam_step",
                                  "adadelta_step",
                                  "adagrad_step"};
static_assert(std::size(kNames) == static_cast<std::size_t>(cuda::Op::adagrad_step) + 1);

struct Launch {
  std::string text;              ///< "dense (128, 128) <- (128, 9216) (9216, 128) (128)"
  double read = 0, written = 0;  ///< MB
};

std::string shape_of(const cuda::Operand& x) {
  std::string text = "(";
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.rank); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(x.shape[i]);
  return text + ")" + (x.dtype == DType::f32 ? "" : " " + to_string(x.dtype));
}

// A tensor that is given twice is read once.
bool is_repeated(const cuda::Call& call, int i) {
  for (int before = call.outputs; before < i; ++before)
    if (call[before].data == call[i].data) return true;
  return false;
}

Launch describe(const cuda::Call& call) {
  Launch launch{kNames[static_cast<std::size_t>(call.op)]};
  for (int i = 0; i < call.operands; ++i) {
    if (i == call.outputs) launch.text += " <-";
    if (!call[i].defined || is_repeated(call, i)) continue;
    launch.text += " " + shape_of(call[i]);
    const double bytes = static_cast<double>(call[i].reach()) * static_cast<double>(size_of(call[i].dtype));
    (i < call.outputs ? launch.written : launch.read) += bytes / 1e6;
  }
  return launch;
}

struct Net {
  const char* name;
  Shape input;
  std::unique_ptr<Module> (*make)();
  std::unique_ptr<Optimizer> (*optimizer)();
};

std::vector<Launch> launches_of(const Net& net, std::int64_t batch, std::optional<DType> compute_dtype) {
  std::vector<Launch> launches;
  FakeDevice device(
      {.computes = false, .on_launch = [&](const cuda::Call& call) { launches.push_back(describe(call)); }});
  Model model(net.make(), net.input, {.backend = &device.backend, .compute_dtype = compute_dtype});
  model.compile({.optimizer = net.optimizer(), .loss = std::make_unique<CategoricalCrossentropy>()});
  const Tensor inputs = Tensor::zeros(net.input.batch_of(batch)),
               labels = Tensor::zeros({batch}, {.dtype = DType::i32});
  model.train_on_batch(inputs, labels);
  launches.clear();  // the first step makes plans and states
  model.train_on_batch(inputs, labels);
  return launches;
}

void print(const Net& net, std::int64_t batch, std::optional<DType> compute_dtype) {
  Launch all;
  std::printf("\n%s, batch %lld, %s\n\n| read MB | written MB | kernel: outputs <- inputs |\n|---|---|---|\n",
              net.name, static_cast<long long>(batch), compute_dtype ? "mixed_bfloat16" : "float32");
  const std::vector<Launch> launches = launches_of(net, batch, compute_dtype);
  for (const Launch& launch : launches) {
    std::printf("| %.2f | %.2f | %s |\n", launch.read, launch.written, launch.text.c_str());
    all.read += launch.read;
    all.written += launch.written;
  }
  std::printf("| **%.1f** | **%.1f** | **%zu kernels** |\n", all.read, all.written, launches.size());
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

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const std::string precision = given.size() == 3 ? given[2] : "float32";
  const bool is_mixed = precision == "mixed_bfloat16", is_known = is_mixed || precision == "float32";
  const long long batch = given.size() == 2 || given.size() == 3 ? std::atoll(given[1].c_str()) : 0;
  for (const Net& net : kNets)
    if (is_known && batch > 0 && given[0] == net.name) {
      print(net, batch, is_mixed ? std::optional(DType::bf16) : std::nullopt);
      return 0;
    }
  std::fprintf(stderr, "usage: %s mnist|cifar|resnet20 BATCH [float32|mixed_bfloat16]\n", words[0]);
  return 2;
}

}  // namespace
}  // namespace ronde::test

int main(int count, char** words) {
  return ronde::test::main(count, words);
}
