/// The convolutions of the reference nets and of ResNet-20 as calls.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "cuda/call.h"

namespace ronde::test {

struct Layer {
  const char* name;
  std::int64_t size, channels, filters, padding;
  std::int64_t window = 3, stride = 1;
};

// Where a ResNet's stride is 2, "same" pads one side alone; its shortcuts are not padded at all.
inline const Layer kLayers[] = {{"MNIST 1", 28, 1, 32, 0},
                                {"MNIST 2", 26, 32, 64, 0},
                                {"CIFAR 1", 32, 3, 32, 1},
                                {"CIFAR 2", 32, 32, 32, 0},
                                {"CIFAR 3", 15, 32, 64, 1},
                                {"CIFAR 4", 15, 64, 64, 0},
                                {"ResNet 1", 32, 3, 16, 1},
                                {"ResNet 16", 32, 16, 16, 1},
                                {"ResNet 16 to 32", 32, 16, 32, 0, 3, 2},
                                {"ResNet 32", 16, 32, 32, 1},
                                {"ResNet shortcut", 32, 16, 32, 0, 1, 2},
                                {"ResNet 64", 8, 64, 64, 1}};

alignas(256) inline char memory_of_operands[256];

inline cuda::Operand operand(std::initializer_list<std::int64_t> shape) {
  cuda::Operand x{.data = memory_of_operands, .defined = true, .rank = static_cast<int>(shape.size())};
  std::copy(shape.begin(), shape.end(), x.shape.begin());
  return x;
}

struct Patterns {
  cuda::Call forward, plain, by_input, by_weight;
};

// In mixed precision all is bf16 but the gradients of a weight and of a bias, which are f32.
inline Patterns patterns_of(const Layer& layer, std::int64_t n, DType dtype = DType::f32) {
  const bool pads_one_side = layer.stride == 2 && layer.window == 3;
  const std::int64_t before = layer.padding, after = pads_one_side ? 1 : layer.padding;
  const std::int64_t out = (layer.size + before + after - layer.window) / layer.stride + 1;
  const auto stored = [&](cuda::Operand x) {
    x.dtype = dtype;
    return x;
  };
  const cuda::Operand x = stored(operand({n, layer.size, layer.size, layer.channels}));
  const cuda::Operand gradient = operand({layer.filters, layer.window, layer.window, layer.channels}),
                      weight = stored(gradient), grad_bias = operand({layer.filters}),
                      bias = stored(grad_bias);
  const cuda::Operand y = stored(operand({n, out, out, layer.filters}));
  const cuda::Attributes attributes{
      .epilogue = Epilogue::relu,
      .conv = {.stride = {layer.stride, layer.stride}, .padding = {before, after, before, after}}};
  Patterns p{.forward = {cuda::Op::conv2d, 1, 4, {y, x, weight, bias}, attributes},
             .plain = {cuda::Op::conv2d, 1, 4, {y, x, weight}, attributes},
             .by_input = {cuda::Op::conv2d_backward_input, 1, 3, {x, y, weight}, attributes},
             .by_weight = {cuda::Op::conv2d_backward_weight, 2, 4, {gradient, grad_bias, y, x}, attributes}};
  p.plain.attributes.epilogue = Epilogue::none;
  return p;
}

}  // namespace ronde::test
