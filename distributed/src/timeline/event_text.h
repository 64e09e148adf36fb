/// Events as JSON, in the trace event format: one object, on one line. Times are in microseconds. Row t of
/// process p has the number 1000 (p + 1) + t there, for Perfetto takes threads for the same whose numbers are
/// equal to each other or to a process's, or 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ronde/core/trace.h>

namespace ronde::inline v0 {

/// `text` as a JSON string, with its quotes: escaped, cut to some 400 bytes, what is not UTF-8 replaced.
std::string json_string(std::string_view text);

/// A complete event of row `thread` of process `process`; `shift` nanoseconds are added to its time.
std::string complete_event(const TraceEvent& event, int process, int thread, std::int64_t shift);
/// A mark over all of a process, with something to know about it.
std::string mark_event(const std::string& name, int process, std::int64_t nanoseconds);
std::string process_name_event(int process, const std::string& name);
/// Rows are shown in the order of their numbers.
std::string thread_name_event(int process, int thread, const std::string& name);

/// Of an event written by one of these; false for one that has no time.
bool read_time(std::string_view event, std::int64_t& nanoseconds);
/// The same event at another time.
std::string with_time(std::string_view event, std::int64_t nanoseconds);

}  // namespace ronde::inline v0
