#include "report/html_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/core/utf8.h>

namespace ronde::apps {
namespace {

constexpr const char* kSpace = "\u00a0";  // where no line is broken
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Length of the character that `text` begins with; 0 when it is none, or one that XML forbids.
std::size_t character_length(std::string_view text) {
  return text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf") ? 0 : utf8_length(text);
}

std::string formatted(const char* format, int digits, double value) {
  std::array<char, 400> buffer{};  // of the longest double in %f
  std::snprintf(buffer.data(), buffer.size(), format, digits, value);
  return buffer.data();
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text.front();
    if (length == 0) {
      safe += "\xef\xbf\xbd";
    } else if (length > 1) {
      safe += text.substr(0, length);
    } else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'') {
      safe += cat("&#", static_cast<int>(c), ";");
    } else {
      safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view part = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= part.size() ? kDigits[bits >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

std::string from_base64(std::string_view text) {
  require<InputError>(text.size() % 4 == 0, "base64 text of ", text.size(), " characters");
  std::string bytes;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    require<InputError>(digit != std::string_view::npos, "a character that is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xffu);
  }
  return bytes;
}

std::string png_uri(std::string_view png) {
  return "data:image/png;base64," + base64(png);
}

std::string fixed(double value, int digits) {
  return std::isfinite(value) ? formatted("%.*f", digits, value) : "-";
}

std::string whole(double value) {
  return std::abs(value) < 1e15 ? grouped(std::llround(value)) : formatted("%.*g", 3, value);
}

std::string brief(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (std::abs(value) >= 1000.0) return whole(value);
  return formatted("%.*g", digits, value);
}

std::string percent(double share, int digits) {
  return std::isfinite(share) ? cat(fixed(100.0 * share, digits), kSpace, "%") : "-";
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 10.0) return cat(fixed(seconds, 1), kSpace, "s");
  const long long whole = std::llround(seconds);
  if (whole < 60) return cat(whole, kSpace, "s");
  if (whole < 3600) return cat(whole / 60, kSpace, "min", kSpace, whole % 60, kSpace, "s");
  return cat(whole / 3600, kSpace, "h", kSpace, whole % 3600 / 60, kSpace, "min");
}

std::string bytes_text(std::int64_t bytes) {
  return bytes < 10'000'000'000 ? cat(grouped((bytes + 500'000) / 1'000'000), " MB")
                                : fixed(static_cast<double>(bytes) / 1e9, 1) + " GB";
}

}  // namespace ronde::apps
