#include <ronde/data/csv.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <ronde/core/counted.h>

#include "csv/csv_lines.h"

namespace ronde::inline v0 {
namespace {

/// A finite number.
std::optional<double> number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool whole = error == std::errc() && end == field.data() + field.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

/// Whether a field that is no number is no name of a column either.
bool is_missing(std::string_view field) {
  constexpr std::string_view kWords[] = {"", "nan", "na", "null", "inf", "infinity"};
  std::string word;
  for (const char c : field)
    if (std::isgraph(static_cast<unsigned char>(c)) && c != '-' && c != '+')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(kWords, word) != std::end(kWords);
}

bool is_byte(float value) {
  return value >= 0 && value <= 255 && value == std::trunc(value);
}

class CsvTable {
 public:
  CsvTable(const std::string& path, const CsvOptions& options) : options_(options), lines_(path) {}

  InMemoryDataset read() {
    std::string_view line;
    lines_.file().expect(lines_.next(line), "empty, expected lines of numbers");
    const bool header = read_first(line);
    row_.resize(columns_ - 1);
    if (!header) read_row(line);
    while (lines_.next(line)) read_row(line);
    lines_.file().expect(!labels_.empty(), "holds a header and no lines of numbers");
    return make_dataset();
  }

 private:
  bool read_first(std::string_view line);
  std::size_t find_label(std::string_view line) const;
  void read_row(std::string_view line);
  double slow_number(CsvFields& fields, std::size_t column) const;
  float slow_input(CsvFields& fields, std::size_t column) const;
  void keep_row();
  void keep_label(double value);
  InMemoryDataset make_dataset() const;
  /// "column 3 (pixel2)"
  std::string column_name(std::size_t column) const {
    return cat("column ", column + 1, names_.empty() ? "" : cat(" (", printable(names_[column]), ")"));
  }

  const CsvOptions& options_;
  CsvLines lines_;
  std::vector<std::string> names_;  // of the columns; empty: there is no header
  std::size_t columns_ = 0, label_ = 0;
  std::vector<float> row_;
  // Inputs are in bytes_ until one is no byte; from then on all are in floats_.
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
  bool all_bytes_ = true;
  std::vector<std::int32_t> labels_;
};

/// Learns the columns from the first line; true when it is a header.
bool CsvTable::read_first(std::string_view line) {
  bool numbers = true, any_number = false, any_name = false;
  for (CsvFields fields(line, options_.delimiter); !fields.at_end();) {
    const std::string_view field = fields.next();
    const bool is_number = number(field).has_value();
    numbers &= is_number;
    any_number |= is_number;
    any_name |= !is_number && !is_missing(field);
    names_.emplace_back(field);
  }
  columns_ = names_.size();
  lines_.expect(numbers || any_name || !any_number,
                "numbers beside fields that are empty or no number: neither names of columns nor a sample");
  if (numbers) names_.clear();
  lines_.expect(columns_ >= 2, "1 column, expected a label and at least one input, separated by '",
                options_.delimiter, "'");
  label_ = find_label(line);
  const auto expected = static_cast<std::size_t>(options_.image_shape.count());
  lines_.expect(options_.image_shape.rank() == 0 || columns_ - 1 == expected, counted(columns_ - 1, "column"),
                " beside the label, expected ", expected, " for ", options_.image_shape);
  return !numbers;
}

std::size_t CsvTable::find_label(std::string_view line) const {
  const std::string& wanted = options_.label_column;
  const auto named = std::find(names_.begin(), names_.end(), wanted.empty() ? "label" : wanted);
  if (named != names_.end()) return static_cast<std::size_t>(named - names_.begin());
  if (wanted.empty() || wanted == "first") return 0;
  if (wanted == "last") return columns_ - 1;
  lines_.expect(false, "no column is named \"", wanted, "\": the first line is \"", printable(line), "\"");
  return 0;
}

double CsvTable::slow_number(CsvFields& fields, std::size_t column) const {
  lines_.expect(!fields.at_end(), counted(column, "column"), ", expected ", columns_,
                " as in the first line");
  const std::string_view field = fields.next();
  const std::optional<double> value = number(field);
  lines_.expect(value.has_value(), column_name(column), " is \"", printable(field), "\", expected a number");
  return *value;
}

float CsvTable::slow_input(CsvFields& fields, std::size_t column) const {
  constexpr double kRoundsToInfinity = 0x1.ffffffp127;  // the largest float32 has shorter names beyond it
  const double value = slow_number(fields, column);
  lines_.expect(std::abs(value) < kRoundsToInfinity, column_name(column), " is ", value,
                ", more than a float32 holds");
  return static_cast<float>(value);
}

void CsvTable::read_row(std::string_view line) {
  CsvFields fields(line, options_.delimiter);
  auto input = row_.begin();
  for (std::size_t column = 0; column < columns_; ++column) {
    int small = 0;
    const bool quick = !fields.at_end() && fields.next_small(small);
    if (column == label_)
      keep_label(quick ? small : slow_number(fields, column));
    else
      *input++ = quick ? static_cast<float>(small) : slow_input(fields, column);
  }
  std::size_t columns = columns_;
  for (; !fields.at_end(); ++columns) fields.next();
  lines_.expect(columns == columns_, counted(columns, "column"), ", expected ", columns_,
                " as in the first line");
  keep_row();
}

void CsvTable::keep_label(double value) {
  const bool fits =
      value >= 0 && value <= std::numeric_limits<std::int32_t>::max() && value == std::trunc(value);
  lines_.expect(fits, column_name(label_), " is ", value, ", expected the number of a class from 0 on");
  const auto classes = static_cast<double>(options_.class_names.size());
  lines_.expect(classes == 0 || value < classes, column_name(label_), " is ", value, ", expected one of ",
                counted(options_.class_names.size(), "class", "classes"), " from 0 on");
  labels_.push_back(static_cast<std::int32_t>(value));
}

void CsvTable::keep_row() {
  if (all_bytes_ && !std::all_of(row_.begin(), row_.end(), is_byte)) {
    all_bytes_ = false;
    floats_.assign(bytes_.begin(), bytes_.end());
    bytes_ = {};
  }
  if (all_bytes_)
    for (const float value : row_) bytes_.push_back(static_cast<std::uint8_t>(value));
  else
    floats_.insert(floats_.end(), row_.begin(), row_.end());
  lines_.expect(bytes_.size() + floats_.size() * sizeof(float) <= options_.max_bytes,
                "the inputs so far take more than the ", grouped(options_.max_bytes), " bytes allowed");
}

InMemoryDataset CsvTable::make_dataset() const {
  const auto n = static_cast<std::int64_t>(labels_.size());
  const Shape row{static_cast<std::int64_t>(row_.size())};
  const Shape shape = (options_.image_shape.rank() == 0 ? row : options_.image_shape).batch_of(n);
  return {all_bytes_ ? Tensor::from(shape, bytes_) : Tensor::from(shape, floats_),
          Tensor::from({n}, labels_),
          {.scale = options_.scale, .offset = options_.offset, .class_names = options_.class_names}};
}

}  // namespace

InMemoryDataset load_csv(const std::string& path, const CsvOptions& options) {
  for (const std::int64_t extent : options.image_shape)
    require<UsageError>(extent >= 1, "[load_csv] expects an image_shape of positive extents, got ",
                        options.image_shape);
  return CsvTable(path, options).read();
}

}  // namespace ronde::inline v0
