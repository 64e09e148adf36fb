/// Losses: one value per sample, so that every average is an exact (sum, count).
#pragma once

#include <memory>
#include <string>

#include <ronde/core/variable.h>
#include <ronde/nn/config.h>

namespace ronde::inline v0 {

class RONDE_API Loss {
 public:
  virtual ~Loss() = default;
  /// Keras' name: "categorical_crossentropy".
  virtual std::string name() const = 0;
  /// Keras' keys of the options that are not the defaults.
  virtual ConfigDict config() const { return {}; }
  /// Loss of each sample, (n). `target` is i32 class labels (n) or a floating tensor, as the loss says.
  virtual Variable operator()(const Variable& output, const Tensor& target) const = 0;
};

struct CrossentropyOptions {
  bool from_logits =
      false;  ///< false: the outputs are probabilities; the direct result of a softmax is taken back
              ///< to its logits, other probabilities are clipped to [1e-7, 1 - 1e-7]
  double label_smoothing = 0.0;
};

/// Targets: class labels i32 (n), or distributions (n, k).
class RONDE_API CategoricalCrossentropy : public Loss {
 public:
  explicit CategoricalCrossentropy(CrossentropyOptions options = {}) : options_(options) {}
  std::string name() const override { return "categorical_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;

 private:
  CrossentropyOptions options_;
};

/// Targets: class labels i32 (n).
class RONDE_API SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(CrossentropyOptions options = {}) : options_(options) {}
  std::string name() const override { return "sparse_categorical_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;

 private:
  CrossentropyOptions options_;
};

/// Targets: 0 ... 1, of the output's shape; the mean over the axes of one sample.
class RONDE_API BinaryCrossentropy : public Loss {
 public:
  /// from_logits: the outputs go through a sigmoid here.
  struct Options {
    bool from_logits = false;
  };
  BinaryCrossentropy() = default;
  explicit BinaryCrossentropy(Options options) : from_logits_(options.from_logits) {}
  std::string name() const override { return "binary_crossentropy"; }
  ConfigDict config() const override;
  Variable operator()(const Variable& output, const Tensor& target) const override;

 private:
  bool from_logits_ = false;
};

/// Mean of squared differences over the axes of one sample.
class RONDE_API MeanSquaredError : public Loss {
 public:
  std::string name() const override { return "mean_squared_error"; }
  Variable operator()(const Variable& output, const Tensor& target) const override;
};

/// The loss with Keras' name, with its defaults; an InputError for one that is not known.
RONDE_API std::unique_ptr<Loss> make_loss(const std::string& name);

}  // namespace ronde::inline v0
