#include "timeline/event_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

constexpr std::string_view kEnd = "]}";

[[noreturn]] void throw_io(const std::string& path) {
  throw IoError(cat(path, ": ", std::generic_category().message(errno)));
}

}  // namespace

EventFile::EventFile(const std::string& path, std::string header)
    : path_(path), page_(::sysconf(_SC_PAGESIZE)) {
  tail_ = std::ssize(header);
  if (tail_ + 2 > page_end()) {  // the end may not lie across a border
    header.append(static_cast<std::size_t>(page_end() - tail_), ' ');
    tail_ = std::ssize(header);
  }
  // Under another name until it is valid.
  const std::string hidden = path + ".new";
  file_ = ::open(hidden.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) throw_io(path);
  try {
    write(header + std::string(kEnd), 0);
    if (std::rename(hidden.c_str(), path.c_str()) != 0) throw_io(path);
  } catch (const IoError&) {
    ::unlink(hidden.c_str());
    ::close(file_);
    throw;
  }
}

EventFile::~EventFile() {
  if (file_ >= 0) ::close(file_);
}

void EventFile::write(std::string_view bytes, std::int64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_io(path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
}

void EventFile::append(std::string_view event) {
  assert(event.size() < kLongestEvent);
  const std::string_view comma = is_empty_ ? "\n" : ",\n";
  const auto needed = static_cast<std::int64_t>(comma.size() + event.size());
  if (size() + needed > page_end()) {
    flush();
    next_page();
  }
  pending_.append(comma).append(event);
  is_empty_ = false;
}

void EventFile::flush() {
  if (pending_.empty()) return;
  const std::int64_t end = tail_ + std::ssize(pending_);
  pending_ += kEnd;
  write(pending_, tail_);
  pending_.clear();
  tail_ = end;
}

/// See Note [Valid at every instant].
void EventFile::next_page() {
  const std::int64_t border = page_end();
  std::string spaces(static_cast<std::size_t>(border - tail_), ' ');
  write(spaces.replace(spaces.size() - kEnd.size(), kEnd.size(), kEnd), tail_);
  write(std::string(static_cast<std::size_t>(page_), ' '), border);
  move_end(border);
  tail_ = border;
}

/// From before the border to behind it.
void EventFile::move_end(std::int64_t border) const {
  struct [[gnu::packed]] Unaligned {
    std::uint64_t bytes;
  };
  char text[9] = "    ]}  ";
  const auto length = static_cast<std::size_t>(2 * page_);
  void* pages = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_, border - page_);
  if (pages == MAP_FAILED) {  // a file system that cannot map: as close as one write comes
    if (::pread(file_, text, 2, border - 4) != 2) throw_io(path_);
    return write({text, 8}, border - 4);
  }
  char* place = static_cast<char*>(pages) + page_ - 4;
  std::memcpy(text, place, 2);
  // Both pages are brought in first, for writing: the store must not stop in the middle for one of them. ARM
  // may by then have written what lies on the other one.
  *static_cast<volatile char*>(place) = text[0];
  *static_cast<volatile char*>(place + 4) = ' ';
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  reinterpret_cast<volatile Unaligned*>(place)->bytes = bytes;
  ::munmap(pages, length);
}

void EventFile::close() {
  flush();
  if (::ftruncate(file_, tail_ + 2) != 0) throw_io(path_);
}

}  // namespace ronde::inline v0
