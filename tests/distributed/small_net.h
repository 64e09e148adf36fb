/// A net of three layers in f64 and data for it: enough for several buckets.
#pragma once

#include <cmath>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/nn/dense.h>

namespace ronde::test {

struct Samples {
  Tensor x;  // (n, 6)
  Tensor y;  // (n, 3)
};

/// Samples begin .. begin + n - 1 of an endless set.
inline Samples make_samples(std::int64_t begin, std::int64_t n) {
  const auto fill = [&](std::int64_t width, double frequency) {
    std::vector<double> values;
    for (std::int64_t i = begin * width; i < (begin + n) * width; ++i) {
      values.push_back(std::sin(frequency * static_cast<double>(i)));
    }
    return Tensor::from<double>({n, width}, values, &backend("cpu"));
  };
  return {fill(6, 0.7), fill(3, 1.3)};
}

struct SmallNet : Module {
  Dense hidden;
  Dense middle{{.units = 4, .activation = Activation::tanh}};
  Dense out{{.units = 3}};

  explicit SmallNet(std::uint64_t seed = 1, std::int64_t units = 5)
      : hidden({.units = units, .activation = Activation::tanh}) {
    add_module("hidden", hidden);
    add_module("middle", middle);
    add_module("out", out);
    build({6}, {.seed = seed, .dtype = DType::f64, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context& context) override {
    return out(middle(hidden(x, context), context), context);
  }
  /// The sum over the samples.
  Variable loss(const Samples& samples) { return sum(squared_error((*this)(samples.x), samples.y)); }
};

}  // namespace ronde::test
