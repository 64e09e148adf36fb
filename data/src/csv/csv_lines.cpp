#include "csv/csv_lines.h"

#include <algorithm>
#include <cstring>

#include <ronde/core/counted.h>

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kBuffer = 1 << 20, kMaxLine = 64 << 20;

std::string_view bare(std::string_view field) {
  const auto is_edge = [](char c) { return c == ' ' || c == '\t' || c == '"'; };
  while (!field.empty() && is_edge(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_edge(field.back())) field.remove_suffix(1);
  return field;
}

}  // namespace

CsvLines::CsvLines(const std::string& path) : file_(path), reader_(file_), buffer_(kBuffer) {}

/// Puts more bytes behind those that are left; false at the end of the file.
bool CsvLines::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    file_.expect(end_ < kMaxLine, "no table of numbers: line ", number_ + 1, " is longer than ",
                 grouped(kMaxLine), " bytes");
    buffer_.resize(2 * buffer_.size());
  }
  const std::size_t got = reader_.read_some(buffer_.data() + end_, buffer_.size() - end_);
  end_ += got;
  return got > 0;
}

/// Where in the buffer the line that begins at begin_ ends.
std::size_t CsvLines::find_end() {
  std::size_t length = 0;  // searched so far
  while (true) {
    const char* from = buffer_.data() + begin_ + length;
    if (const void* found = std::memchr(from, '\n', end_ - begin_ - length))
      return static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
    length = end_ - begin_;
    if (!fill()) return end_;
  }
}

bool CsvLines::next(std::string_view& line) {
  do {
    const std::size_t end = find_end();
    if (begin_ == end_) return false;
    line = {buffer_.data() + begin_, end - begin_};
    begin_ = std::min(end + 1, end_);
    if (++number_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // UTF-8's mark
    if (line.ends_with('\r')) line.remove_suffix(1);
  } while (line.find_first_not_of(" \t") == std::string_view::npos);
  return true;
}

/// Takes a field of so many bytes and the delimiter behind it.
void CsvFields::remove(std::size_t bytes) {
  at_end_ = bytes == rest_.size();
  rest_.remove_prefix(at_end_ ? bytes : bytes + 1);
}

std::string_view CsvFields::next() {
  std::size_t end = 0;
  const std::size_t quote = rest_.find_first_not_of(' ');
  // A delimiter between quotes belongs to the field.
  if (quote < rest_.size() && rest_[quote] == '"') end = std::min(rest_.find('"', quote + 1), rest_.size());
  end = std::min(rest_.find(delimiter_, end), rest_.size());
  const std::string_view field = bare(rest_.substr(0, end));
  remove(end);
  return field;
}

bool CsvFields::next_small(int& value) {
  const std::size_t most = std::min<std::size_t>(rest_.size(), 3);
  std::size_t digits = 0;
  value = 0;
  for (; digits < most && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
    value = value * 10 + (rest_[digits] - '0');
  if (digits == 0 || (digits < rest_.size() && rest_[digits] != delimiter_)) return false;
  remove(digits);
  return true;
}

}  // namespace ronde::inline v0
