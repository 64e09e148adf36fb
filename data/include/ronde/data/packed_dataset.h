/// PackedDataset: samples in one memory-mapped file, for data sets larger than memory.
///
///     pack_dataset(ImageFolder("pets", {.height = 64, .width = 64}), "pets.ronde");    // once
///     PackedDataset pets("pets.ronde");
///     model.fit(pets, {.batch_size = 32});    // shuffled by blocks: SamplerOptions.shuffle_block
///
/// The file, version 1, little-endian: a header (counts, shapes, dtypes, class names, a CRC-32 of each block,
/// sealed by its own SHA-256), then blocks of `block_size()` samples: their inputs, then their targets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>

namespace ronde::inline v0 {

struct PackOptions {
  DType dtype = DType::u8;  ///< of the inputs in the file: u8, f32 or f64
  /// A byte b stands for b * scale + offset. f32 and f64 are kept as they are read.
  double scale = 1.0 / 255;
  double offset = 0.0;
  std::int64_t block_bytes = 1 << 20;  ///< about so much is read at once
  int threads = 1;                     ///< that read the data set
  std::function<void(std::int64_t samples, std::int64_t total)> progress = {};  ///< after each block
};

/// Writes all samples to `path`: whole, or not at all. Errors: UsageError when dtype is u8 and a value is no
/// byte by scale and offset; IoError when the file cannot be written; those of the data set.
RONDE_API void pack_dataset(const Dataset& dataset, const std::string& path, const PackOptions& options = {});

/// Thread safety: `read` may be called from several threads at once. The file must not be changed in place
/// meanwhile; replacing it, as pack_dataset does, is fine.
class RONDE_API PackedDataset : public Dataset {
 public:
  /// IoError when the file cannot be read, InputError when it is no packed file, damaged or cut off.
  explicit PackedDataset(const std::string& path);
  ~PackedDataset() override;

  std::int64_t size() const override;
  Shape input_shape() const override;
  Shape target_shape() const override;
  DType target_dtype() const override;
  std::vector<std::string> class_names() const override;
  std::int64_t block_size() const override;
  /// A block is checked against its CRC-32 when it is read for the first time: InputError when it is damaged.
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

  /// Of the inputs in the file.
  DType stored_dtype() const;
  /// What a stored byte is multiplied by (PackOptions::scale); 1 where the inputs are no bytes.
  double scale() const;
  /// Checks all blocks.
  void verify() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::inline v0
