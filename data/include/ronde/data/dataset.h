/// Dataset: samples by global index. Model code never sees a file format.
///
/// A user's own data set derives from it. Thread safety: `read` is called from loader threads, several at
/// once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class InMemoryDataset;
class PictureChanges;

class RONDE_API Dataset {
 public:
  virtual ~Dataset() = default;
  /// Number of samples.
  virtual std::int64_t size() const = 0;
  /// Of one sample, without the batch: (h, w, c) for images.
  virtual Shape input_shape() const = 0;
  /// Of one target, without the batch; () for a class label.
  virtual Shape target_shape() const { return {}; }
  /// i32 for class labels, else a floating dtype.
  virtual DType target_dtype() const { return DType::i32; }
  /// Names of the classes, or empty.
  virtual std::vector<std::string> class_names() const { return {}; }
  /// So many samples lie together and are best read together (`SamplerOptions.shuffle_block`); 0: any order
  /// is as good.
  virtual std::int64_t block_size() const { return 0; }
  /// The samples in memory of which the first size() are this one's, in their order; nullptr: there are none.
  /// From them batches are made where they are needed: on a GPU, if that is where the net is.
  virtual const InMemoryDataset* in_memory() const { return nullptr; }
  /// What becomes of sample `sample` of in_memory() before it is this one's: adds it to `changes`, as
  /// Augmentation::plan does, or is false.
  virtual bool plan(PictureChanges& /*changes*/, std::int64_t /*sample*/) const { return true; }

  /// Writes sample samples[i] into row i of `inputs` (n, input_shape...) in f32 or f64 and of `targets` (n,
  /// target_shape...) in target_dtype(). Both are dense and in host memory.
  virtual void read(std::span<const std::int64_t> samples, const Tensor& inputs,
                    const Tensor& targets) const = 0;
};

}  // namespace ronde::inline v0
