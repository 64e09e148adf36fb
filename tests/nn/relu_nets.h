/// Nets with relus behind normalisations or sums, and all numbers that they compute: what is one call has to
/// give the bits of two.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/trace_recorder.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/relu.h>
#include <ronde/nn/sequential.h>

#include "support/gradient_check.h"

namespace ronde::test {

/// Of a class that no run takes in.
class OwnRelu : public ReLU {
 public:
  using ReLU::ReLU;
};

/// Three pairs, one of them in front of a join; the result of the last normalisation is used twice.
template <class Relu>
std::unique_ptr<Module> norm_relu_graph() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  Symbol y = net->add(Relu(), net->add(BatchNormalization(), x));
  y = net->add(Add(), {x, net->add(Relu(), net->add(BatchNormalization({.scale = false}), y))});
  const Symbol twice = net->add(BatchNormalization(), net->add(Relu(), net->add(BatchNormalization(), y)));
  net->output(net->add(Add(), {net->add(Relu(), twice), twice}));
  return net;
}

/// With moving statistics, though gradients go through them.
template <class Relu>
std::unique_ptr<Module> frozen_norm_relu_graph() {
  std::unique_ptr<Module> net = norm_relu_graph<Relu>();
  net->set_trainable(false);
  return net;
}

template <class Relu>
std::unique_ptr<Module> norm_relu_sequence() {
  return std::make_unique<Sequential>(BatchNormalization(), Relu(), Relu(), BatchNormalization(),
                                      BatchNormalization(), Relu());
}

/// Two pairs, of which the first one's result is used twice, and what is none: a sum of three, and one whose
/// result something else takes too.
template <class Relu>
std::unique_ptr<Module> add_relu_graph() {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input(), y = net->add(BatchNormalization(), x);
  const Symbol first = net->add(Relu(), net->add(Add(), {x, y}));
  const Symbol of_three = net->add(Relu(), net->add(Add(), {y, first, x}));
  const Symbol shared = net->add(Add(), {first, net->add(BatchNormalization(), of_three)});
  net->output(net->add(Relu(), net->add(Add(), {net->add(Relu(), shared), shared})));
  return net;
}

/// The names that a timeline of a forward pass has: a run's are those of its layers with " + " between them.
inline std::set<std::string> names_of_calls(Module& net, const Tensor& x, bool training) {
  std::set<std::string> names;
  TraceRecorder recorder;
  net(x, {.training = training});
  recorder.stop();
  recorder.drain([&](const TraceThread&, std::span<const TraceEvent> events) {
    for (const TraceEvent& event : events) names.insert(event.name);
  });
  return names;
}

/// Results and gradients of a training step, moving statistics, and results of inference.
inline std::vector<double> numbers_of(Module& net, const BuildOptions& options, std::int64_t channels) {
  net.build({5, 3, channels}, options);
  std::uint64_t seed = 7;
  for (Parameter p : net.parameters())
    p.variable.assign(
        random_tensor(p.variable.shape(), ++seed, 0.2, 1.0).to(p.variable.dtype()).to(*options.backend));
  const Tensor x = random_tensor({2, 5, 3, channels}, 3).to(options.dtype).to(*options.backend);
  std::vector<double> all;
  const auto append = [&](const Tensor& tensor) {
    for (const double value : tensor.to_vector<double>()) all.push_back(value);
  };
  const Variable input = Variable::parameter(x), y = net(input, {.training = true});
  sum(square(y)).backward();
  append(y.value());
  append(input.grad());
  for (const Parameter& p : net.parameters())
    append(p.variable.requires_grad() ? p.variable.grad() : p.variable.value());
  const NoGrad inference;
  append(net(x).value());
  return all;
}

}  // namespace ronde::test
