#include <zlib.h>

#include <algorithm>
#include <set>

#include <ronde/core/error.h>
#include <ronde/data/zip.h>

#include "files/input_file.h"
#include "files/zip.h"

namespace ronde::inline v0 {
namespace {

constexpr std::uint64_t kMaxArchive = UINT32_MAX;

/// Appends `bytes` bytes of a little-endian number.
void append(std::string& out, std::uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value & 0xff);
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

/// What the header before a member and its entry in the directory have in common.
std::string common_fields(const ZipPart& entry) {
  constexpr std::uint64_t kVersion = 20, kUtf8 = 1 << 11, kStored = 0;
  constexpr std::uint64_t kNoTime = 0, kFirstDay = 1 << 5 | 1;  // 1980-01-01: the oldest day there is
  std::string fields;
  append(fields, kVersion, 2);
  append(fields, kUtf8, 2);
  append(fields, kStored, 2);
  append(fields, kNoTime, 2);
  append(fields, kFirstDay, 2);
  append(fields, checksum(entry.bytes), 4);
  append(fields, entry.bytes.size(), 4);
  append(fields, entry.bytes.size(), 4);
  append(fields, entry.name.size(), 2);
  append(fields, 0, 2);  // no extra field
  return fields;
}

void check(const std::vector<ZipPart>& entries) {
  std::set<std::string_view> names;
  std::uint64_t bytes = 0;
  for (const ZipPart& entry : entries) {
    require(!entry.name.empty() && entry.name.size() <= UINT16_MAX, "[zip] a member's name has ",
            entry.name.size(), " bytes");
    require(!has_control_characters(entry.name), "[zip] member ", printable(entry.name),
            " has a control character in its name, which no reader takes");
    require(names.insert(entry.name).second, "[zip] member ", entry.name, " comes twice");
    bytes += entry.bytes.size() + 2 * entry.name.size() + 128;  // more than its two headers take
  }
  require(entries.size() <= kMostZipMembers && bytes <= kMaxArchive, "[zip] ", entries.size(), " members of ",
          bytes, " bytes do not fit into a zip archive: at most 65,535 members and 4 GiB");
}

}  // namespace

void write_zip(const std::vector<ZipPart>& parts, const std::function<void(std::string_view)>& write) {
  check(parts);
  std::uint64_t written = 0;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::string fields = common_fields(part);
    std::string header;
    append(header, 0x04034b50, 4);
    header.append(fields).append(part.name);
    write(header);
    write(part.bytes);

    append(directory, 0x02014b50, 4);
    append(directory, 20, 2);  // written by MS-DOS: no Unix permissions
    directory += fields;
    append(directory, 0, 10);  // no comment, first volume, no attributes
    append(directory, written, 4);
    directory += part.name;
    written += header.size() + part.bytes.size();
  }
  const std::uint64_t length = directory.size();
  append(directory, 0x06054b50, 4);
  append(directory, 0, 4);  // one volume
  append(directory, parts.size(), 2);
  append(directory, parts.size(), 2);
  append(directory, length, 4);
  append(directory, written, 4);
  append(directory, 0, 2);  // no comment
  write(directory);
}

std::string encode_zip(const std::vector<ZipEntry>& entries) {
  std::vector<ZipPart> parts;
  for (const ZipEntry& entry : entries) parts.push_back({entry.name, entry.bytes});
  std::string archive;
  write_zip(parts, [&](std::string_view bytes) { archive += bytes; });
  return archive;
}

}  // namespace ronde::inline v0
