// Which timeline is wanted, and how one is read.
#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <ronde/core/error.h>
#include <ronde/distributed/timeline.h>

namespace ronde::inline v0 {
namespace {

bool parse_step(std::string_view text, std::int64_t& step) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  return error == std::errc() && end == text.data() + text.size() && step >= 1;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t parse_megabytes(const std::string& text) {
  std::int64_t megabytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  require<UsageError>(
      error == std::errc() && end == text.data() + text.size() && megabytes >= 1 && megabytes <= 1 << 20,
      "RONDE_TIMELINE_MB=", text, ": give a whole number of megabytes from 1");
  return megabytes << 20;
}

}  // namespace

TraceWindow parse_trace_window(const std::string& text) {
  TraceWindow window;
  const std::size_t colon = text.find(':');
  const bool is_window = colon != std::string::npos && text.size() > 1 &&
                         parse_step(std::string_view(text).substr(0, colon), window.first_step) &&
                         parse_step(std::string_view(text).substr(colon + 1), window.last_step) &&
                         window.first_step <= window.last_step;
  require<UsageError>(is_window, "give steps as 100:200, 100: or :200");
  return window;
}

std::optional<TimelineOptions> timeline_from_environment() {
  TimelineOptions options{.path = variable("RONDE_TIMELINE")};
  if (options.path.empty()) options.path = variable("HOROVOD_TIMELINE");
  if (options.path.empty() || options.path == "DYNAMIC") return std::nullopt;
  if (const std::string steps = variable("RONDE_TIMELINE_STEPS"); !steps.empty()) {
    try {
      options.steps = parse_trace_window(steps);
    } catch (const UsageError& error) {
      throw UsageError(cat("RONDE_TIMELINE_STEPS=", steps, ": ", error.what()));
    }
  }
  if (const std::string size = variable("RONDE_TIMELINE_MB"); !size.empty())
    options.max_bytes = parse_megabytes(size);
  return options;
}

std::string read_timeline(const std::string& path) {
  // A file that is not zipped is read as it is.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(path.c_str(), "rb"), &::gzclose);
  require<IoError>(file != nullptr, path, ": ", std::generic_category().message(errno));
  std::string text;
  std::array<char, 1 << 16> piece;
  int count = 0;
  while ((count = ::gzread(file.get(), piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(count));
  int problem = Z_OK;
  ::gzerror(file.get(), &problem);
  require<InputError>(count == 0 && problem == Z_OK, path, ": damaged: cannot be unzipped");
  return text;
}

}  // namespace ronde::inline v0
