/// LayerRun: layers of a net, one behind the other, that one operation computes. Classes derived from
/// these layers may compute something else, and inputs of another size than in `build` get their errors from
/// the layers: such runs are empty.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <typeinfo>

#include <ronde/core/trace.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/merge.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// What a run computes with: the input of its first layer, and what an Add among the others adds to the
/// result in front of it; undefined: there is no Add.
struct RunInput {
  Variable x, addend;
};

class LayerRun {
 public:
  std::size_t length() const { return length_; }
  /// The layers' paths, for a timeline.
  std::string path() const {
    std::string path;
    for (const Module* layer : layers_.first(length_)) path += (path.empty() ? "" : " + ") + layer->path();
    return path;
  }

 protected:
  explicit LayerRun(std::span<Module* const> layers) : layers_(layers) {}

  Module& first() const { return *layers_.front(); }
  void clear() { length_ = 0; }
  /// The next layer, taken into the run, if it is of just this class and `fits` it.
  template <class Layer>
  Layer* next(bool (*fits)(const Layer&) = nullptr) {
    if (length_ == layers_.size() || !layers_[length_]->is_built()) return nullptr;
    Module& module = *layers_[length_];
    if (typeid(module) != typeid(Layer)) return nullptr;
    auto& layer = static_cast<Layer&>(module);
    if (fits && !fits(layer)) return nullptr;
    ++length_;
    return &layer;
  }
  /// A Dropout of each element by itself, taken into the run.
  Dropout* next_dropout();
  /// A plain relu, as a layer of either class, taken into the run; none: as next_activation().
  UnaryStage next_relu();
  /// An elementwise function, as a layer of any class, taken into the run; none: one that changes nothing.
  UnaryStage next_activation();
  /// An Add of the addend to a result of that shape, taken into the run. `result`: of a sample.
  Add* next_add(const RunInput& input, const Shape& result);

 private:
  std::span<Module* const> layers_;
  std::size_t length_ = 0;
};

/// Computes y of x by the run that the layers begin with, and returns its length; 0: there is none.
template <class Run, class Input>
std::size_t compute_run(std::span<Module* const> layers, const Input& x, Variable& y,
                        const Context& context) {
  const Run run(layers, x, context);
  if (run.length() < 2) return 0;
  const TraceLayer traced(is_tracing() ? run.path() : std::string());
  y = run(x, context);
  return run.length();
}

}  // namespace ronde::inline v0
