#include "timeline/merge.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include <ronde/core/error.h>

#include "timeline/event_file.h"
#include "timeline/event_text.h"

namespace ronde::inline v0 {
namespace {

void require_done(bool ok, const std::string& path) {
  require<IoError>(ok, path, ": ", std::generic_category().message(errno));
}

/// Beside the file, until it is complete.
std::string unfinished(const std::string& path) {
  return path + ".unfinished";
}

void publish(const std::string& path) {
  require_done(std::rename(unfinished(path).c_str(), path.c_str()) == 0, path);
}

class PlainSink final : public TimelineSink {
 public:
  PlainSink(std::string path, const std::string& header)
      : path_(std::move(path)), file_(unfinished(path_), header) {}
  ~PlainSink() override { ::unlink(unfinished(path_).c_str()); }
  void append(std::string_view event) override { file_.append(event); }
  void finish() override {
    file_.close();
    publish(path_);
  }

 private:
  std::string path_;
  EventFile file_;
};

class ZippedSink final : public TimelineSink {
 public:
  ZippedSink(std::string path, const std::string& header)
      : path_(std::move(path)), file_(::gzopen(unfinished(path_).c_str(), "wb6")) {
    require_done(file_ != nullptr, path_);
    write(header);
  }
  ~ZippedSink() override {
    if (file_ != nullptr) ::gzclose(file_);
    ::unlink(unfinished(path_).c_str());
  }
  void append(std::string_view event) override {
    write(std::exchange(is_empty_, false) ? "\n" : ",\n");
    write(event);
  }
  void finish() override {
    write("]}");
    require_done(::gzclose(std::exchange(file_, nullptr)) == Z_OK, path_);
    publish(path_);
  }

 private:
  void write(std::string_view text) {
    const int written = ::gzwrite(file_, text.data(), static_cast<unsigned>(text.size()));
    require_done(written == static_cast<int>(text.size()), path_);
  }

  std::string path_;
  gzFile file_;
  bool is_empty_ = true;
};

}  // namespace

std::vector<std::string> sorted_events(std::string_view part,
                                       const std::function<std::int64_t(std::int64_t)>& correct) {
  constexpr std::string_view kBetween = " ,\n";
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  part.remove_prefix(std::min(part.size(), part.find('\n')));
  part = part.substr(0, part.find_last_not_of(' ') + 1);
  if (part.ends_with("]}")) part.remove_suffix(2);
  std::vector<std::pair<std::int64_t, std::string>> timed;
  while (true) {
    part.remove_prefix(std::min(part.size(), part.find_first_not_of(kBetween)));
    if (part.empty()) break;
    std::string_view line = part.substr(0, part.find('\n'));
    part.remove_prefix(line.size());
    line = line.substr(0, line.find_last_not_of(kBetween) + 1);
    std::int64_t time = 0;
    if (read_time(line, time)) {
      time = correct(time);
      timed.emplace_back(time, with_time(line, time));
    } else {
      timed.emplace_back(kFirst, line);
    }
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> events;
  events.reserve(timed.size());
  for (auto& [time, text] : timed) events.push_back(std::move(text));
  return events;
}

std::unique_ptr<TimelineSink> make_timeline_sink(const std::string& path, const std::string& header) {
  if (path.ends_with(".gz")) return std::make_unique<ZippedSink>(path, header);
  return std::make_unique<PlainSink>(path, header);
}

}  // namespace ronde::inline v0
