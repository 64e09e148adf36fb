#include "tensorboard/orphans.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include <ronde/models/file_io.h>

#include "files/wildcard.h"
#include "tensorboard/record.h"

namespace ronde::inline v0 {

namespace {

/// Reads one Protocol Buffers message, field by field. Damaged bytes end it.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t integer = 0;  ///< of a varint
    std::string_view bytes;     ///< of anything else
  };
  std::optional<Field> next() {
    Field field;
    const std::uint64_t key = varint();
    field.number = key >> 3;
    const std::uint64_t kind = key & 7;
    if (kind == 0) field.integer = varint();
    const std::uint64_t size = kind == 0 ? 0 : kind == 1 ? 8 : kind == 5 ? 4 : varint();
    if (damaged_ || size > rest_.size()) return {};
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged_ = true;
    return 0;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

/// The bytes of the first field of that number; empty when there is none.
std::string_view find(std::string_view message, std::uint64_t number) {
  MessageReader reader(message);
  while (const auto field = reader.next())
    if (field->number == number) return field->bytes;
  return {};
}

std::int64_t step_of(std::string_view event) {
  MessageReader reader(event);
  while (const auto field = reader.next())
    if (field->number == 2) return static_cast<std::int64_t>(field->integer);
  return 0;
}

bool is_orphan(std::string_view event, const ResumePoint& point) {
  const std::string_view tag = find(find(find(event, 5), 1), 1);  // summary, value, tag
  const std::int64_t step = step_of(event);
  if (tag.starts_with("batch_")) return step > point.steps;
  if (tag.starts_with("evaluation_")) return step > point.iterations;
  return (tag.starts_with("epoch_") || tag.ends_with("/histogram")) && step >= point.epoch;
}

std::string without_orphans(std::string_view bytes, const ResumePoint& point) {
  std::string kept;
  while (const auto event = take_record(bytes))
    if (!is_orphan(*event, point)) kept += encode_record(*event);
  return kept;
}

}  // namespace

void drop_orphans(const std::string& directory, const ResumePoint& point) {
  for (const std::filesystem::path& path : entries_of_directory(directory)) {
    std::error_code ignored;
    const bool is_ours = path.filename().string().find("tfevents") != std::string::npos;
    if (!is_ours || !std::filesystem::is_regular_file(path, ignored)) continue;
    const std::string before = read_file(path);
    const std::string after = without_orphans(before, point);
    if (after.size() != before.size()) atomic_write_file(path, after);
  }
}

}  // namespace ronde::inline v0
