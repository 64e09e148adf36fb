/// Layers that merge several inputs element by element: Add, Subtract, Multiply, Average, Maximum, Minimum,
/// CustomScaleLayer.
///
///     y = net.add(Add(), {x, y});                  // in a Graph
///     Variable sum = add({x, y}, context);         // in a forward() of one's own, with a member `Add add`
///
/// All inputs have the same number of axes; an extent of 1 is stretched: (n, 1, 1, c) with (n, h, w, c).
/// Inputs are taken in the order given, ((a + b) + c) + ...; at least two, for Subtract and CustomScaleLayer
/// exactly two.
#pragma once

#include <string>
#include <vector>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// What they have in common.
class RONDE_API Merge : public Module {
 public:
  ConfigDict config() const override;
  bool keeps_mask() const override { return true; }
  /// An error: there is nothing to merge.
  Variable forward(const Variable& x, const Context& context) override;
  Variable join(const std::vector<Variable>& inputs, const Context& context) override;

 private:
  virtual Variable merge(const Variable& a, const Variable& b) const = 0;
  /// From what merging all inputs gave.
  virtual Variable finish(const Variable& merged, std::size_t inputs) const;
  virtual std::size_t most_inputs() const;
};

class RONDE_API Add : public Merge {
 public:
  std::string class_name() const override { return "Add"; }
  /// relu(a + b), in one pass over memory.
  Variable join_with_relu(const Variable& a, const Variable& b) const;

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
};

/// The first input minus the second.
class RONDE_API Subtract : public Merge {
 public:
  std::string class_name() const override { return "Subtract"; }

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
  std::size_t most_inputs() const override;
};

class RONDE_API Multiply : public Merge {
 public:
  std::string class_name() const override { return "Multiply"; }

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
};

class RONDE_API Average : public Merge {
 public:
  std::string class_name() const override { return "Average"; }

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
  Variable finish(const Variable& merged, std::size_t inputs) const override;
};

class RONDE_API Maximum : public Merge {
 public:
  std::string class_name() const override { return "Maximum"; }

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
};

class RONDE_API Minimum : public Merge {
 public:
  std::string class_name() const override { return "Minimum"; }

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
};

/// The first input plus `scale` times the second: the class of keras.applications' InceptionResNetV2. Keras
/// opens a `.keras` with it as it is, an `.h5` only with `custom_objects`.
class RONDE_API CustomScaleLayer : public Merge {
 public:
  explicit CustomScaleLayer(double scale) : scale_(scale) {}
  std::string class_name() const override { return "CustomScaleLayer"; }
  double scale() const { return scale_; }
  ConfigDict config() const override;

 private:
  Variable merge(const Variable& a, const Variable& b) const override;
  std::size_t most_inputs() const override;

  double scale_;
};

}  // namespace ronde::inline v0
