/// ForwardingDataset: another data set, but for what a derived class says otherwise.
///
///     class Inverted final : public ForwardingDataset {
///      public:
///       using ForwardingDataset::ForwardingDataset;
///       void read(std::span<const std::int64_t> samples, const Tensor& inputs,
///                 const Tensor& targets) const override {
///         inner().read(samples, inputs, targets);
///         float* values = inputs.data<float>();
///         for (std::int64_t i = 0; i < inputs.count(); ++i) values[i] = 1.0f - values[i];
///       }
///     };
///
/// What is in memory (Dataset::in_memory, plan) is not forwarded: a derived class does that if its samples
/// are those.
#pragma once

#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

class RONDE_API ForwardingDataset : public Dataset {
 public:
  /// `inner` must outlive it.
  explicit ForwardingDataset(const Dataset& inner) : inner_(&inner) {}

  std::int64_t size() const override { return inner_->size(); }
  Shape input_shape() const override { return inner_->input_shape(); }
  Shape target_shape() const override { return inner_->target_shape(); }
  DType target_dtype() const override { return inner_->target_dtype(); }
  std::vector<std::string> class_names() const override { return inner_->class_names(); }
  std::int64_t block_size() const override { return inner_->block_size(); }
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    inner_->read(samples, inputs, targets);
  }

 protected:
  const Dataset& inner() const { return *inner_; }

 private:
  const Dataset* inner_;
};

}  // namespace ronde::inline v0
