/// The table of contents of a zip archive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/byte_reader.h"

namespace ronde::inline v0 {

struct ZipMember {
  std::string name;
  Section section;
};

/// Without ZIP64 an archive counts them in two bytes.
constexpr std::size_t kMostZipMembers = UINT16_MAX;

/// Members in the archive's order; each name once. Stored and deflated members; no encryption, no ZIP64 sizes
/// (an archive is below 4 GiB), one volume. InputError otherwise.
std::vector<ZipMember> read_zip_directory(const InputFile& file);

}  // namespace ronde::inline v0
