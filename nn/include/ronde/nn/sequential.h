/// Sequential: layers one after the other.
///
///     Sequential net(Conv2D({.filters = 32, .activation = Activation::relu}), MaxPooling2D(), Flatten(),
///                    Dense({.units = 10, .activation = Activation::softmax}));
///     net.add(Activation(Activation::softmax));
///
/// Layers without a name get Keras': conv2d, conv2d_1, max_pooling2d, ... counted per class in this
/// container.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

class RONDE_API Sequential : public Module {
 public:
  Sequential() = default;
  Sequential(Sequential&&) = default;
  /// Takes the layers over.
  template <class First, class... Rest>
  requires(!std::same_as<First, Sequential> || sizeof...(Rest) > 0) explicit Sequential(First&& first,
                                                                                        Rest&&... rest) {
    add(std::forward<First>(first));
    (add(std::forward<Rest>(rest)), ...);
  }

  /// Appends a layer and returns it; before `build` only.
  template <std::derived_from<Module> Layer>
  Layer& add(Layer&& layer) {
    return static_cast<Layer&>(append(std::make_unique<Layer>(std::move(layer))));
  }
  template <std::derived_from<Module> Layer>
  Layer& add(std::unique_ptr<Layer> layer) {
    return static_cast<Layer&>(append(std::move(layer)));
  }
  std::vector<Module*> layers() const { return children(); }

  std::string class_name() const override { return "Sequential"; }
  /// name and layers, each {"class_name", "config"}; once the net is built, with an InputLayer first.
  ConfigDict config() const override;
  Variable forward(const Variable& x, const Context& context) override;

 private:
  Module& append(std::unique_ptr<Module> layer);
};

}  // namespace ronde::inline v0
