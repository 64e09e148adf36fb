#include <algorithm>
#include <cstring>

#include <ronde/core/counted.h>
#include <ronde/core/sha256.h>
#include <ronde/models/file_io.h>
#include <ronde/models/safetensors.h>

#include "export/safetensors_types.h"
#include "json/json.h"

namespace ronde::inline v0 {

namespace {

constexpr std::string_view kHalf = "F16";

Tensor read_halves(std::string_view data, const Shape& shape) {
  const Tensor tensor = Tensor::empty_once(shape, {.dtype = DType::f32});
  for (std::size_t i = 0; i < data.size() / 2; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, data.data() + 2 * i, 2);
    tensor.data<float>()[i] = float_of_half(bits);
  }
  return tensor;
}

/// One array as the header has it.
struct ArrayEntry {
  std::string name, type;
  Shape shape;
  std::uint64_t begin, end;
};

std::uint64_t unsigned_integer(const ConfigValue& value) {
  const std::int64_t number = value.as_int();
  require<InputError>(number >= 0, "has ", number, " where a size is expected");
  return static_cast<std::uint64_t>(number);
}

std::uint64_t element_size(const ArrayEntry& entry) {
  if (entry.type == kHalf) return 2;
  for (const SafetensorsType& type : kSafetensorsTypes)
    if (type.name == entry.type) return size_of(type.dtype);
  throw InputError(cat("array ", entry.name, " is of type ", entry.type, ", which is not read"));
}

/// More than any file holds; counts of them fit into 64 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

ArrayEntry read_entry(const std::string& name, const ConfigValue& described) {
  ArrayEntry entry{name, described.at("dtype").as_string(), {}, 0, 0};
  const ConfigList& extents = described.at("shape").as_list();
  require<InputError>(extents.size() <= Shape::kMaxRank, "array ", name, " has ", extents.size(), " axes");
  std::uint64_t bytes = element_size(entry);
  bool overflow = false;
  bool is_empty = false;
  for (const ConfigValue& extent : extents) {
    entry.shape.push_back(extent.as_int());
    is_empty |= extent.as_int() == 0;  // which does not make the others possible
    overflow |= __builtin_mul_overflow(bytes, std::max<std::uint64_t>(unsigned_integer(extent), 1), &bytes);
  }
  overflow |= bytes > kMostBytes;
  const ConfigList& offsets = described.at("data_offsets").as_list();
  require<InputError>(offsets.size() == 2, "array ", name, " has ", offsets.size(), " offsets");
  entry.begin = unsigned_integer(offsets[0]);
  entry.end = unsigned_integer(offsets[1]);
  require<InputError>(
      !overflow && entry.begin <= entry.end && entry.end - entry.begin == (is_empty ? 0 : bytes), "array ",
      name, " of ", entry.type, " ", entry.shape, " cannot lie from ", entry.begin, " to ", entry.end);
  return entry;
}

std::map<std::string, std::string> read_metadata(const ConfigValue& value) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.as_dict())
    if (key != kSafetensorsHash) metadata[key] = text.as_string();
  return metadata;
}

/// Every byte belongs to exactly one array.
void check_cover(std::vector<ArrayEntry>& entries, std::uint64_t bytes) {
  std::sort(entries.begin(), entries.end(), [](const ArrayEntry& a, const ArrayEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t end = 0;
  for (const ArrayEntry& entry : entries) {
    require<InputError>(entry.begin == end, "array ", entry.name, " begins at ", entry.begin,
                        ", but the one before ends at ", end);
    end = entry.end;
  }
  require<InputError>(end == bytes, "its arrays take ", counted(end, "byte"), ", but ", bytes, " are there");
}

Tensor read_array(const ArrayEntry& entry, std::string_view buffer) {
  const std::string_view data = buffer.substr(entry.begin, entry.end - entry.begin);
  if (entry.type == kHalf) return read_halves(data, entry.shape);
  const auto* type = std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                                  [&](const SafetensorsType& known) { return known.name == entry.type; });
  const Tensor tensor = Tensor::empty_once(entry.shape, {.dtype = type->dtype});
  std::copy(data.begin(), data.end(), static_cast<char*>(tensor.raw()));
  return tensor;
}

/// Before anything else looks at the bytes.
void verify_hash(std::string_view bytes) {
  const std::optional<std::size_t> at = find_safetensors_hash(bytes);
  if (!at) return;
  Sha256 hash;
  hash.update(bytes.substr(0, *at));
  hash.update(kSafetensorsNoHash);
  hash.update(bytes.substr(*at + kSafetensorsNoHash.size()));
  require<InputError>(hash.hex() == bytes.substr(*at, kSafetensorsNoHash.size()),
                      "damaged: its bytes are not those that were written (a program that changes the file "
                      "must leave out the metadata's ",
                      kSafetensorsHash, ")");
}

Safetensors decode(std::string_view bytes) {
  std::uint64_t length = 0;
  require<InputError>(bytes.size() > sizeof length,
                      "is not a safetensors file: ", counted(bytes.size(), "byte"));
  verify_hash(bytes);
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  require<InputError>(
      length >= 2 && length <= std::min(bytes.size(), kMaxSafetensorsHeader) && bytes[0] == '{',
      "is not a safetensors file, or truncated");
  const ConfigValue header = from_json(std::string(bytes.substr(0, length)));
  const std::string_view buffer = bytes.substr(length);

  Safetensors file;
  std::vector<ArrayEntry> entries;
  for (const auto& [name, value] : header.as_dict()) {
    if (name == kSafetensorsMetadata)
      file.metadata = read_metadata(value);
    else
      entries.push_back(read_entry(name, value));
  }
  check_cover(entries, buffer.size());
  for (const ArrayEntry& entry : entries)
    require<InputError>(file.tensors.emplace(entry.name, read_array(entry, buffer)).second, "array ",
                        entry.name, " comes twice");
  return file;
}

}  // namespace

std::optional<std::size_t> find_safetensors_hash(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() <= sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::string_view header =
      bytes.substr(0, sizeof length + std::min<std::uint64_t>(length, bytes.size()));
  const std::string key = cat("\"", kSafetensorsHash, "\":"), mark = cat("\"", kSafetensorsHashMark);
  const std::size_t key_at = header.find(key), mark_at = header.find(mark);
  if (key_at == header.npos && mark_at == header.npos) return {};
  require<InputError>(key_at != header.npos && mark_at == key_at + key.size() &&
                          mark_at + mark.size() + kSafetensorsNoHash.size() <= bytes.size(),
                      "damaged: its hash is not what was written");
  return mark_at + mark.size();
}

Safetensors decode_safetensors(std::string_view bytes, const std::string& source) {
  try {
    return decode(bytes);
  } catch (const InputError& error) {
    throw InputError(cat(source, ": ", error.what()));
  }
}

Safetensors read_safetensors(const std::string& path) {
  return decode_safetensors(read_file(path), path);
}

}  // namespace ronde::inline v0
