/// InMemoryDataset: samples held in two tensors.
///
///     InMemoryDataset points(Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}),
///                            Tensor::from<std::int32_t>({4}, {0, 1, 1, 0}));
///     InMemoryDataset images(pixels, labels, {.scale = 1.0 / 255});    // u8 (n, h, w, c), kept as bytes
///
/// Ownership: it shares the tensors' storage (strided tensors are copied); do not write to them afterwards.
/// Copies are cheap. Thread safety: `read` may be called from several threads at once.
#pragma once

#include <memory>

#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

struct InMemoryOptions {
  double scale = 1.0;  ///< the net sees input * scale + offset
  double offset = 0.0;
  std::vector<std::string> class_names = {};  ///< if given, every label must have one
};

class RONDE_API InMemoryDataset : public Dataset {
 public:
  /// inputs (n, ...) of u8, i32, f32 or f64; targets (n) or (n, ...): integers are class labels (kept as
  /// i32; an error for those that are none), f32 and f64 are values.
  InMemoryDataset(const Tensor& inputs, const Tensor& targets, InMemoryOptions options = {});

  std::int64_t size() const override { return inputs_.size(0); }
  Shape input_shape() const override { return inputs_.shape().tail(1); }
  Shape target_shape() const override { return targets_.shape().tail(1); }
  DType target_dtype() const override { return targets_.dtype(); }
  std::vector<std::string> class_names() const override { return options_.class_names; }
  /// Itself, unless it is of a derived class, which may read something else.
  const InMemoryDataset* in_memory() const override;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;
  /// The targets alone, as `read` writes them.
  void read_targets(std::span<const std::int64_t> samples, const Tensor& targets) const;

  /// As given, not scaled.
  const Tensor& inputs() const { return inputs_; }
  const Tensor& targets() const { return targets_; }
  const InMemoryOptions& options() const { return options_; }

 private:
  Tensor inputs_;
  Tensor targets_;
  InMemoryOptions options_;
};

}  // namespace ronde::inline v0
