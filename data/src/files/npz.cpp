#include <ronde/data/npz.h>

#include <string_view>

#include "files/npy.h"
#include "files/zip.h"

namespace ronde::inline v0 {

namespace {

std::map<std::string, Tensor> read_arrays(const InputFile& file, std::uint64_t max_bytes) {
  std::map<std::string, Tensor> arrays;
  for (const ZipMember& member : read_zip_directory(file)) {
    constexpr std::string_view kSuffix = ".npy";
    file.expect(member.name.ends_with(kSuffix), "zip member ", member.name, " is not a .npy array");
    ByteReader reader(file, member.section);
    const Tensor array = read_npy_array(reader, max_bytes);
    max_bytes -= array.byte_size();  // in all: members may share the bytes of a hostile archive
    arrays[member.name.substr(0, member.name.size() - kSuffix.size())] = array;
  }
  return arrays;
}

}  // namespace

std::map<std::string, Tensor> read_npz(const std::string& path, std::uint64_t max_bytes) {
  return read_arrays(InputFile(path), max_bytes);
}

std::map<std::string, Tensor> decode_npz(std::string_view archive, const std::string& source,
                                         std::uint64_t max_bytes) {
  return read_arrays(InputFile(source, archive), max_bytes);
}

}  // namespace ronde::inline v0
