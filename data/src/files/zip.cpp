#include "files/zip.h"

#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {
namespace {

// Sizes of the fixed parts of the three records, and their signatures ("PK" and two bytes).
constexpr std::size_t kEndRecord = 22, kDirectoryEntry = 46, kLocalHeader = 30;
constexpr std::uint32_t kEndSignature = 0x06054b50, kEntrySignature = 0x02014b50,
                        kLocalSignature = 0x04034b50;

/// Little-endian fields of a record.
class Fields {
 public:
  explicit Fields(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  std::uint32_t u16(std::size_t at) const { return bytes_[at] | std::uint32_t{bytes_[at + 1]} << 8; }
  std::uint32_t u32(std::size_t at) const { return u16(at) | u16(at + 2) << 16; }
  std::string text(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, length};
  }

 private:
  std::span<const unsigned char> bytes_;
};

std::vector<unsigned char> read_bytes(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<unsigned char> data(static_cast<std::size_t>(bytes));
  file.read(offset, data.data(), data.size());
  return data;
}

struct Directory {
  std::uint32_t members, bytes, offset;
};

/// The end record is the last thing in the file: an archive comment is not accepted.
Directory read_end_record(const InputFile& file) {
  file.expect(file.size() >= kEndRecord, "not a zip archive: only ", counted(file.size(), "byte"));
  const auto bytes = read_bytes(file, file.size() - kEndRecord, kEndRecord);
  const Fields end(bytes);
  file.expect(end.u32(0) == kEndSignature && end.u16(20) == 0,
              "not a zip archive, or truncated: it does not end with a zip directory");
  const Directory directory{.members = end.u16(10), .bytes = end.u32(12), .offset = end.u32(16)};
  file.expect(end.u16(4) == 0 && end.u16(6) == 0 && end.u16(8) == directory.members,
              "a zip archive in several volumes");
  file.expect(std::uint64_t{directory.offset} + directory.bytes + kEndRecord == file.size(),
              "damaged zip archive: its directory is not where its end says");
  return directory;
}

/// Finds the member's data, which lies behind a header that repeats the name.
void locate(const InputFile& file, ZipMember& member, std::uint64_t header, std::uint64_t limit) {
  const auto reach = [&](std::uint64_t end) {
    file.expect(end <= limit, "damaged zip archive: member ", member.name, " reaches out of it");
  };
  reach(header + kLocalHeader + member.name.size());
  const auto bytes = read_bytes(file, header, kLocalHeader + member.name.size());
  const Fields local(bytes);
  const bool same = local.u32(0) == kLocalSignature && local.u16(26) == member.name.size() &&
                    local.text(kLocalHeader, member.name.size()) == member.name;
  file.expect(same, "damaged zip archive: member ", member.name, " is not where its directory says");
  member.section.offset = header + kLocalHeader + local.u16(26) + local.u16(28);
  reach(member.section.offset + member.section.length);
}

ZipMember read_member(const InputFile& file, const Fields& directory, std::size_t at, std::size_t name_bytes,
                      std::uint64_t limit) {
  ZipMember member{.name = directory.text(at + kDirectoryEntry, name_bytes), .section = {}};
  file.expect(!has_control_characters(member.name), "zip member with an odd name: ", printable(member.name));
  const std::uint32_t method = directory.u16(at + 10);
  const std::uint32_t packed = directory.u32(at + 20), size = directory.u32(at + 24);
  file.expect((directory.u16(at + 8) & 1) == 0, "zip member ", member.name, " is encrypted");
  file.expect(method == 0 || method == 8, "zip member ", member.name, " is compressed with method ", method,
              ", expected 0 (stored) or 8 (deflated)");
  file.expect(packed != UINT32_MAX && size != UINT32_MAX, "zip member ", member.name,
              " is larger than 4 GiB");
  file.expect(method != 0 || packed == size, "damaged zip archive: stored member ", member.name,
              " has two sizes");
  member.section = {.length = packed,
                    .coding = method == 0 ? Coding::plain : Coding::deflate,
                    .size = size,
                    .crc32 = directory.u32(at + 16),
                    .label = member.name + ": "};
  locate(file, member, directory.u32(at + 42), limit);
  return member;
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const InputFile& file) {
  const Directory end = read_end_record(file);
  const auto bytes = read_bytes(file, end.offset, end.bytes);
  const Fields directory(bytes);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < end.members; ++i) {
    const auto fits = [&](std::size_t length) { return length <= bytes.size() - at; };
    file.expect(fits(kDirectoryEntry) && directory.u32(at) == kEntrySignature, "damaged zip archive: entry ",
                i + 1, " of its directory");
    const std::size_t name_bytes = directory.u16(at + 28);
    const std::size_t entry = kDirectoryEntry + name_bytes + directory.u16(at + 30) + directory.u16(at + 32);
    file.expect(fits(entry), "damaged zip archive: entry ", i + 1, " of its directory");
    members.push_back(read_member(file, directory, at, name_bytes, end.offset));
    const std::string& name = members.back().name;
    file.expect(names.insert(name).second, "zip member ", name, " comes twice");
    at += entry;
  }
  file.expect(at == bytes.size(), "damaged zip archive: bytes behind the last entry of its directory");
  return members;
}

}  // namespace ronde::inline v0
