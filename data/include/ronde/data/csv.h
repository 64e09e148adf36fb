/// Tables of numbers: one sample a line, a column of class labels, the others are its input.
///
///     InMemoryDataset digits =
///         load_csv("mnist_train.csv", {.image_shape = {28, 28, 1}, .scale = 1.0 / 255});
///     InMemoryDataset wine = load_csv("wine.csv", {.label_column = "quality", .delimiter = ';'});
///
/// Plain or compressed with gzip, in one or several members. A first line that is not all numbers is a
/// header, unless all that is no number there is missing (empty, "nan"). Fields may be quoted; empty lines
/// are skipped. Inputs that are all whole numbers from 0 to 255 are kept as bytes, others as f32.
///
/// Errors: IoError when the file is missing or cannot be read; InputError, "data: PATH:LINE: ...", with the
/// column, the value and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ronde/data/in_memory_dataset.h>

namespace ronde::inline v0 {

struct CsvOptions {
  /// A name in the header, "first" or "last". Empty: the column named "label" where there is one, else the
  /// first.
  std::string label_column = {};
  Shape image_shape = {};  ///< of one sample's input; its columns must be as many. Empty: (columns)
  double scale = 1.0;      ///< the net sees value * scale + offset
  double offset = 0.0;
  char delimiter = ',';
  std::vector<std::string> class_names = {};          ///< if given, every label must have one
  std::uint64_t max_bytes = std::uint64_t{16} << 30;  ///< of inputs in memory
};

RONDE_API InMemoryDataset load_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace ronde::inline v0
