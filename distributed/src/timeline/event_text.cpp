#include "timeline/event_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

#include <ronde/core/text.h>
#include <ronde/core/utf8.h>

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kLongestEventText = 400;  // bytes
constexpr std::string_view kBeforeTime = "\"ts\":";
constexpr std::int64_t kRowsOfAProcess = 1000;

void append_number(std::string& to, std::int64_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  to.append(digits.data(), end);
}

/// In microseconds with three digits behind the point.
void append_time(std::string& to, std::int64_t nanoseconds) {
  if (nanoseconds < 0) {
    to += '-';
    nanoseconds = -nanoseconds;
  }
  append_number(to, nanoseconds / 1000);
  to += '.';
  for (std::int64_t place = 100; place > 0; place /= 10)
    to += static_cast<char>('0' + nanoseconds / place % 10);
}

void append_string(std::string& to, std::string_view text) {
  to += '"';
  const std::size_t limit = to.size() + kLongestEventText;
  while (!text.empty() && to.size() < limit) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0) {
      to += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      to += '\\';
      to += text.front();
    } else if (first < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", first);
      to += code.data();
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += text.empty() ? "\"" : "...\"";
}

std::int64_t row_number(int process, int thread) {
  return kRowsOfAProcess * (std::int64_t{process} + 1) + thread;
}

void append_place(std::string& to, int process, int thread) {
  to += ",\"pid\":";
  append_number(to, process);
  to += ",\"tid\":";
  append_number(to, row_number(process, thread));
}

void append_argument(std::string& to, const TraceArgument& argument) {
  append_string(to, argument.key);
  to += ':';
  if (argument.text != nullptr)
    append_string(to, argument.text);
  else
    append_number(to, argument.value);
}

void append_arguments(std::string& to, const TraceArgument& first, const TraceArgument& second) {
  if (first.key == nullptr && second.key == nullptr) return;
  to += ",\"args\":{";
  if (first.key != nullptr) append_argument(to, first);
  if (first.key != nullptr && second.key != nullptr) to += ',';
  if (second.key != nullptr) append_argument(to, second);
  to += '}';
}

std::string name_event(const char* kind, int process, int thread, const std::string& name) {
  return cat("{\"ph\":\"M\",\"pid\":", process, ",\"tid\":", row_number(process, thread), ",\"name\":\"",
             kind, "\",\"args\":{\"name\":", json_string(name), "}}");
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string result;
  append_string(result, text);
  return result;
}

std::string complete_event(const TraceEvent& event, int process, int thread, std::int64_t shift) {
  std::string text;
  text.reserve(192);
  text = "{\"ph\":\"X\",\"ts\":";
  append_time(text, event.begin + shift);
  text += ",\"dur\":";
  append_time(text, event.end - event.begin);
  append_place(text, process, thread);
  text += ",\"cat\":";
  append_string(text, event.category);
  text += ",\"name\":";
  append_string(text, event.name);
  append_arguments(text, event.first, event.second);
  text += '}';
  return text;
}

std::string mark_event(const std::string& name, int process, std::int64_t nanoseconds) {
  std::string text = "{\"ph\":\"i\",\"ts\":";
  append_time(text, nanoseconds);
  append_place(text, process, 0);
  return text + ",\"s\":\"p\",\"cat\":\"timeline\",\"name\":" + json_string(name) + "}";
}

std::string process_name_event(int process, const std::string& name) {
  return name_event("process_name", process, 0, name);
}

std::string thread_name_event(int process, int thread, const std::string& name) {
  return name_event("thread_name", process, thread, name);
}

bool read_time(std::string_view event, std::int64_t& nanoseconds) {
  const std::size_t place = event.find(kBeforeTime);
  if (place > 16) return false;  // behind "ph", or there is none
  const char* begin = event.data() + place + kBeforeTime.size();
  const char* const end = event.data() + event.size();
  const bool is_negative = begin != end && *begin == '-';
  std::int64_t whole = 0, rest = 0;
  const auto point = std::from_chars(is_negative ? begin + 1 : begin, end, whole);
  if (point.ec != std::errc() || point.ptr == end || *point.ptr != '.') return false;
  if (std::from_chars(point.ptr + 1, end, rest).ec != std::errc()) return false;
  nanoseconds = (whole * 1000 + rest) * (is_negative ? -1 : 1);
  return true;
}

std::string with_time(std::string_view event, std::int64_t nanoseconds) {
  const std::size_t begin = event.find(kBeforeTime) + kBeforeTime.size();
  std::string text(event.substr(0, begin));
  append_time(text, nanoseconds);
  return text.append(event.substr(event.find(',', begin)));
}

}  // namespace ronde::inline v0
