/// EventFile: a JSON file that ends in a list of events and is valid at every instant, also when the process
/// is killed.
///
///     EventFile file("part.json", "{\"traceEvents\":[");
///     file.append("{\"ph\":\"i\" ...}");
///     file.flush();
///
/// Note [Valid at every instant]: the file ends in "]}" and, perhaps, spaces. A system call that a kill
/// interrupts has written whole pages or nothing, so events are added page by page: one write replaces the
/// "]}" by events and a new "]}" that lies in the same page. When no event fits into the page any more,
/// spaces move the "]}" to its very end, the next page is filled with spaces, and one eight-byte store
/// through a mapping of both pages moves it over the border: an instruction happens, or it does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ronde::inline v0 {

class EventFile {
 public:
  /// An event must be shorter, so that it fits into any page.
  static constexpr std::size_t kLongestEvent = 4000;

  /// Replaces what is at `path`, at once. `header` ends in "[". IoError.
  EventFile(const std::string& path, std::string header);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// In the file at the latest when its page is full or with `flush`. IoError.
  void append(std::string_view event);
  void flush();
  /// Bytes that the file has when all is flushed.
  std::int64_t size() const { return tail_ + static_cast<std::int64_t>(pending_.size()) + 2; }
  /// Flushes and drops the spaces at the end.
  void close();

 private:
  std::int64_t page_end() const { return (tail_ / page_ + 1) * page_; }
  void write(std::string_view bytes, std::int64_t offset) const;
  void next_page();
  void move_end(std::int64_t border) const;

  std::string path_;
  int file_ = -1;
  std::int64_t page_;      // bytes
  std::int64_t tail_ = 0;  // where "]}" is
  std::string pending_;    // events to write there
  bool is_empty_ = true;   // no event yet
};

}  // namespace ronde::inline v0
