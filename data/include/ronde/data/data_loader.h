/// DataLoader: threads that prepare a rank's batches ahead of the training, in a ring of reused buffers.
///
///     DataLoader loader(mnist.train, ShardedSampler({.size = mnist.train.size(), .global_batch = 128}));
///     loader.start(0, loader.sampler().steps_per_epoch());
///     while (const Batch* batch = loader.next()) train(*batch);
///
/// After the first batches nothing is allocated. Thread safety: one thread calls start and next.
#pragma once

#include <cstdint>
#include <memory>

#include <ronde/data/augmentation.h>
#include <ronde/data/dataset.h>
#include <ronde/data/sampler.h>

namespace ronde::inline v0 {

/// This rank's share of a step. Valid until the next call of `next` or `start`.
struct Batch {
  std::int64_t step = 0;
  std::int64_t global_count = 0;  ///< samples of all ranks
  Tensor inputs;                  ///< (n, input_shape...); n may be 0
  Tensor targets;                 ///< (n, target_shape...)
  Tensor sample_keys;             ///< i64 (n, 2): global sample index, epoch
  std::int64_t size() const { return inputs.size(0); }
};

struct LoaderOptions {
  DType dtype = DType::f32;  ///< of the inputs: f32 or f64
  /// Where batches lie; nullptr: the default backend. Those for a GPU are filled in host memory and copied by
  /// `next`, always to the same place.
  Backend* backend = nullptr;
  /// Inputs in memory (Dataset::in_memory) of up to so many bytes are kept on a GPU, where batches are then
  /// gathered from them, and augmented (Augmentation::plan): only keys, targets and what an augmentation drew
  /// travel.
  std::int64_t resident_bytes = std::int64_t{1} << 30;
  int ring = 3;  ///< batches in flight, the one in use included; at least 2
  /// Applied to each sample, with the sampler's seed; must outlive the loader. nullptr: none.
  const Augmentation* augmentation = nullptr;
  /// That read, decode and augment: rows of a batch are shared out. The batches do not depend on it.
  int threads = 1;
};

class RONDE_API DataLoader {
 public:
  /// The data set must outlive the loader.
  DataLoader(const Dataset& dataset, ShardedSampler sampler, LoaderOptions options = {});
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  const ShardedSampler& sampler() const;
  /// Begins with global step `first`; `next` will give `count` batches. What was begun before is abandoned.
  void start(std::int64_t first, std::int64_t count);
  /// The next batch, or nullptr after the last. Rethrows what the data set threw, after the batches before
  /// it.
  const Batch* next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::inline v0
