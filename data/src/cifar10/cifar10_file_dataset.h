/// Cifar10FileDataset: samples whose pictures stay in their files; a read takes a record of each.
///
/// The system keeps files that are read often in memory, once for all processes, and lets go of them where
/// memory is short. A picture costs a system call more than from memory, one to two microseconds.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/in_memory_dataset.h>

#include "files/input_file.h"

namespace ronde::inline v0 {

class Cifar10FileDataset : public Dataset {
 public:
  using Files = std::vector<std::shared_ptr<const InputFile>>;
  /// Files of equally many records, and the labels (n) of all of them.
  Cifar10FileDataset(Files files, const Tensor& labels, std::vector<std::string> class_names);

  std::int64_t size() const override { return labels_.size(0); }
  Shape input_shape() const override { return {32, 32, 3}; }
  std::vector<std::string> class_names() const override { return options_.class_names; }
  /// Reads all of them when it is first called: a GPU gets its pictures from memory.
  const InMemoryDataset* in_memory() const override;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override;

 private:
  /// u8 (32, 32, 3)
  void read_pixels(std::int64_t sample, std::uint8_t* pixels) const;

  Files files_;
  std::int64_t of_a_file_;
  Tensor labels_;  // i32
  InMemoryOptions options_;
  mutable std::once_flag loaded_;
  mutable std::optional<InMemoryDataset> in_memory_;
};

}  // namespace ronde::inline v0
