#include "keras_file/trailer.h"

#include <ronde/core/error.h>
#include <ronde/core/sha256.h>

namespace ronde::inline v0 {

namespace {

constexpr std::string_view kMagic = "\nronde-sha256 ";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kLength = kMagic.size() + kDigits + 1;

}  // namespace

void append_trailer(std::string& bytes) {
  const std::string digest = sha256_hex(bytes);
  bytes.append(kMagic).append(digest).append("\n");
}

std::string_view verify_trailer(std::string_view bytes) {
  if (bytes.size() < kLength) return bytes;
  const std::string_view trailer = bytes.substr(bytes.size() - kLength);
  if (!trailer.starts_with(kMagic)) return bytes;
  bytes.remove_suffix(kLength);
  require<InputError>(trailer.substr(kMagic.size(), kDigits) == sha256_hex(bytes),
                      "damaged: its bytes are not those that were written (SHA-256 differs)");
  return bytes;
}

}  // namespace ronde::inline v0
