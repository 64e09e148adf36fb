/// An attention of one input, for helpers that give a layer one.
#pragma once

#include <utility>

#include <ronde/nn/module.h>

namespace ronde::test {

/// The input is query, value and key.
template <class Layer>
struct SelfAttention : Module {
  Layer layer;
  template <class Options>
  explicit SelfAttention(const Options& options) : layer(options) {
    add_module("attention", layer);
  }
  SelfAttention(SelfAttention&& other) : layer(std::move(other.layer)) { add_module("attention", layer); }
  Variable forward(const Variable& x, const Context& context) override { return layer({x, x}, context); }
};

}  // namespace ronde::test
