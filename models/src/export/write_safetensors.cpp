#include <bit>

#include <ronde/core/sha256.h>
#include <ronde/models/file_io.h>
#include <ronde/models/safetensors.h>

#include "export/safetensors_types.h"
#include "json/json.h"

namespace ronde::inline v0 {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr std::size_t kAlignment = 8;  // of the arrays: readers map the file into memory

ConfigValue metadata_of(const Safetensors& file) {
  ConfigDict metadata;
  for (const auto& [key, text] : file.metadata) metadata.emplace_back(key, text);
  metadata.emplace_back(kSafetensorsHash, cat(kSafetensorsHashMark, kSafetensorsNoHash));
  return metadata;
}

ConfigValue shape_of(const Tensor& tensor) {
  ConfigList shape;
  for (const std::int64_t extent : tensor.shape()) shape.emplace_back(extent);
  return shape;
}

/// In the order in which the arrays lie: the widest elements first, so that each is aligned.
std::vector<std::pair<std::string, Tensor>> in_order(const NamedTensors& tensors) {
  std::vector<std::pair<std::string, Tensor>> order;
  for (const std::size_t size : {8, 4, 2, 1})
    for (const auto& [name, tensor] : tensors)
      if (size_of(tensor.dtype()) == size) order.emplace_back(name, tensor.contiguous());
  return order;
}

}  // namespace

std::string encode_safetensors(const Safetensors& file) {
  const auto order = in_order(file.tensors);
  ConfigDict header;
  header.emplace_back(kSafetensorsMetadata, metadata_of(file));
  std::int64_t end = 0;
  for (const auto& [name, tensor] : order) {
    require(name != kSafetensorsMetadata, "[safetensors] an array cannot be called ", name);
    const std::int64_t begin = end;
    end += static_cast<std::int64_t>(tensor.byte_size());
    header.emplace_back(name, ConfigDict{{"dtype", std::string(safetensors_name(tensor.dtype()))},
                                         {"shape", shape_of(tensor)},
                                         {"data_offsets", ConfigList{begin, end}}});
  }
  std::string text = to_json(header);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  require(text.size() <= kMaxSafetensorsHeader, "[safetensors] ", order.size(),
          " arrays have a header of more than 100 MB");

  std::string bytes;
  bytes.reserve(kAlignment + text.size() + static_cast<std::size_t>(end));
  const std::uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (const auto& [name, tensor] : order)
    bytes.append(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  bytes.replace(*find_safetensors_hash(bytes), kSafetensorsNoHash.size(), sha256_hex(bytes));
  return bytes;
}

void write_safetensors(const std::string& path, const Safetensors& file) {
  atomic_write_file(path, encode_safetensors(file));
}

void write_safetensors(const std::string& path, const Module& net, WeightNames names) {
  const char* format = names == WeightNames::torch ? "pt" : "keras";
  write_safetensors(path, Safetensors{named_weights(net, names), {{"format", format}}});
}

}  // namespace ronde::inline v0
