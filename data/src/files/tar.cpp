#include "files/tar.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <string_view>
#include <vector>

namespace ronde::inline v0 {
namespace {

constexpr std::uint64_t kRecord = 512;
using Header = std::array<unsigned char, kRecord>;

/// A field of a header, up to its first NUL.
std::string_view field(const Header& header, std::size_t offset, std::size_t bytes) {
  const std::string_view all(reinterpret_cast<const char*>(header.data()) + offset, bytes);
  return all.substr(0, all.find('\0'));
}

/// Octal digits between spaces; nothing when it is something else.
std::optional<std::uint64_t> octal(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(digit - '0');
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

/// The sum of all bytes with spaces in the field that holds it.
std::uint64_t checksum(const Header& header) {
  constexpr std::size_t kAt = 148, kBytes = 8;
  const auto sum = std::accumulate(header.begin(), header.end(), std::uint64_t{0});
  const auto own = std::accumulate(header.begin() + kAt, header.begin() + kAt + kBytes, std::uint64_t{0});
  return sum - own + kBytes * ' ';
}

}  // namespace

void TarReader::skip(std::uint64_t bytes) {
  std::vector<char> piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, 64 << 10)));
  while (bytes > 0) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece.size()));
    reader_.read(piece.data(), now);
    bytes -= now;
  }
}

void TarReader::read(void* out, std::size_t bytes) {
  assert(bytes <= left_);
  reader_.read(out, bytes);
  left_ -= bytes;
}

std::optional<TarEntry> TarReader::next() {
  while (true) {
    skip(left_ + padding_);
    Header header;
    reader_.read(header.data(), header.size());
    if (std::all_of(header.begin(), header.end(), [](unsigned char c) { return c == 0; })) {
      left_ = padding_ = 0;
      std::array<char, 4096> behind;  // more zeros; reading them lets the checksums of gzip be checked
      while (reader_.read_some(behind.data(), behind.size()) > 0) continue;
      return std::nullopt;
    }
    reader_.expect(octal(field(header, 148, 8)) == checksum(header),
                   "damaged, or not a tar archive: the checksum of a header is wrong");
    const auto size = octal(field(header, 124, 12));
    const std::string_view path = field(header, 0, 100);
    reader_.expect(size.has_value(), "holds \"", printable(path), "\" of a size that is no octal number");
    left_ = *size;
    padding_ = (kRecord - *size % kRecord) % kRecord;
    const char type = static_cast<char>(header[156]);
    if (type == '0' || type == '\0') return TarEntry{std::string(path.substr(path.rfind('/') + 1)), *size};
  }
}

}  // namespace ronde::inline v0
