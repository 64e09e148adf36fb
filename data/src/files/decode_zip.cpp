
#include <ronde/core/counted.h>
#include <ronde/data/zip.h>

#include "files/zip.h"

namespace ronde::inline v0 {

std::vector<ZipEntry> decode_zip(std::string_view archive, const std::string& source,
                                 std::uint64_t max_bytes) {
  const InputFile file(source, archive);
  std::vector<ZipEntry> entries;
  for (const ZipMember& member : read_zip_directory(file)) {
    const std::uint64_t size = member.section.size.value_or(0);
    ByteReader reader(file, member.section);
    reader.expect(size <= max_bytes, "larger than the ", grouped(max_bytes), " bytes allowed");
    reader.expect_left(size, "its size");
    max_bytes -= size;  // in all: members may share the bytes of a hostile archive
    ZipEntry entry{member.name, std::string(static_cast<std::size_t>(size), '\0')};
    reader.read(entry.bytes.data(), entry.bytes.size());
    reader.expect_end(to_string(counted(size, "byte")));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace ronde::inline v0
