/// Zip archives in memory: small ones, as .npz and .keras files are.
///
///     std::string archive = encode_zip({{"config.json", text}, {"weights.h5", bytes}});
///     for (const ZipEntry& entry : decode_zip(archive, "net.keras")) ...
///
/// Thread safety: free functions, may be called from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

struct ZipEntry {
  std::string name;
  std::string bytes;
};

/// The archive's bytes: members are stored, not compressed, and carry no times, so equal entries give equal
/// bytes. An Error when it would have more than 65,535 members or take more than 4 GiB (no ZIP64), or when a
/// name comes twice.
RONDE_API std::string encode_zip(const std::vector<ZipEntry>& entries);

/// A member whose bytes are somebody else's.
struct ZipPart {
  std::string_view name;
  std::string_view bytes;
};

/// The bytes of `encode_zip`, given to `write` from the first to the last in pieces, of which each member is
/// one.
RONDE_API void write_zip(const std::vector<ZipPart>& parts,
                         const std::function<void(std::string_view)>& write);

/// The members, in the archive's order; their CRC-32 is checked. Members may be stored or deflated. `source`
/// names the archive in errors. InputError when it is no such archive, is damaged, or its members take more
/// than `max_bytes` in all.
RONDE_API std::vector<ZipEntry> decode_zip(std::string_view archive, const std::string& source,
                                           std::uint64_t max_bytes = std::uint64_t{4} << 30);

}  // namespace ronde::inline v0
