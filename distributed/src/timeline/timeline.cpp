#include <ronde/distributed/timeline.h>

#include <unistd.h>

#include <exception>
#include <filesystem>
#include <utility>
#include <vector>

#include "timeline/clock.h"
#include "timeline/event_text.h"
#include "timeline/merge.h"
#include "timeline/part_writer.h"
#include "timeline/places.h"

namespace ronde::inline v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastBytes = 64 << 10;  // of a rank
constexpr std::size_t kPieceBytes = 1 << 20;    // that travel at once

/// "dir/timeline.rank3.json" for "dir/timeline.json" and for "dir/timeline.json.gz".
std::string part_path(const std::string& path, int rank) {
  fs::path stem = path;
  if (stem.extension() == ".gz") stem.replace_extension();
  if (stem.extension() == ".json") stem.replace_extension();
  return cat(stem.string(), ".rank", rank, ".json");
}

void prepare_place(const std::string& path) {
  const fs::path directory = fs::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) fs::create_directories(directory, error);
  std::error_code ignored;
  if (!error && fs::is_directory(path, ignored)) error = std::make_error_code(std::errc::is_a_directory);
  if (!error && ::access(directory.empty() ? "." : directory.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  require<IoError>(!error, "cannot write the timeline ", path, ": ", error.message());
  // Root would replace even /dev/null.
  require<IoError>(!fs::exists(path, ignored) || fs::is_regular_file(path, ignored),
                   "cannot write the timeline ", path, ": is no regular file");
}

/// Pieces of whole lines.
std::vector<std::string> pieces_of(const std::vector<std::string>& events) {
  std::vector<std::string> pieces;
  for (const std::string& event : events) {
    if (pieces.empty() || pieces.back().size() > kPieceBytes) pieces.emplace_back();
    pieces.back().append(event) += '\n';
  }
  return pieces;
}

void append_lines(TimelineSink& sink, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    sink.append(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace

struct Timeline::State {
  State(Communicator& world, TimelineOptions settings);
  void start();
  void stop();
  ClockDifference measure() const;
  std::int64_t to_common_time(std::int64_t part_time) const;
  std::vector<std::string> own_events() const;
  std::string header();
  void merge();
  void remove_part() const;

  Communicator& communicator;
  const TimelineOptions options;
  const int exceptions = std::uncaught_exceptions();
  TimelinePlaces places;
  ClockLine clock;
  std::int64_t zero = 0;  // when the timeline begins, by rank 0's clock
  std::unique_ptr<PartWriter> writer;
  bool is_stopped = false;
};

Timeline::State::State(Communicator& world, TimelineOptions settings)
    : communicator(world), options(std::move(settings)), places(find_timeline_places(world)) {
  require<UsageError>(!options.path.empty(), "[timeline] expects a path");
  const std::int64_t bytes = options.max_bytes / std::ssize(places.recorders);
  require<UsageError>(bytes >= kLeastBytes, "[timeline] expects max_bytes of at least ", kLeastBytes,
                      " for each rank, got ", options.max_bytes, " for ", places.recorders.size());
  clock.begin = clock.end = measure();
  const Tensor time = Tensor::full({1}, 0.0, {.dtype = DType::i64});
  *time.data<std::int64_t>() = clock.begin.at;
  communicator.broadcast(time).wait();
  zero = *time.data<std::int64_t>();
  collectively(communicator, [&] { start(); });
}

ClockDifference Timeline::State::measure() const {
  ClockDifference difference = measure_clock(communicator, trace_clock);
  if (places.has_clock_of_rank_0) difference.nanoseconds = difference.error = 0;
  return difference;
}

void Timeline::State::start() {
  if (communicator.rank() == 0) prepare_place(options.path);
  if (!places.records) return;
  prepare_place(part_path(options.path, communicator.rank()));
  writer =
      std::make_unique<PartWriter>(PartOptions{.path = part_path(options.path, communicator.rank()),
                                               .process = communicator.rank(),
                                               .name = places.name,
                                               .shift = -clock.begin.nanoseconds - zero,
                                               .max_bytes = options.max_bytes / std::ssize(places.recorders),
                                               .steps = options.steps});
}

void Timeline::State::stop() {
  if (is_stopped) return;
  is_stopped = true;
  communicator.barrier().wait();  // ranks that share a recorder have all ended what it shall hold
  if (writer) writer->stop();
  clock.end = measure();
  merge();
  remove_part();
}

/// A part's times are by the first measurement alone.
std::int64_t Timeline::State::to_common_time(std::int64_t part_time) const {
  return clock.rank_0_time(part_time + clock.begin.nanoseconds + zero) - zero;
}

std::vector<std::string> Timeline::State::own_events() const {
  if (!writer) return {};
  return sorted_events(read_timeline(part_path(options.path, communicator.rank())),
                       [this](std::int64_t time) { return to_common_time(time); });
}

/// What is to be said about the whole file. Collective.
std::string Timeline::State::header() {
  const auto error = static_cast<double>(std::max(clock.begin.error, clock.end.error));
  std::vector<double> worst{error};
  std::vector<double> lost{writer ? static_cast<double>(writer->lost()) : 0.0};
  allreduce_values(communicator, worst, Reduction::max);
  allreduce_values(communicator, lost, Reduction::sum);
  const std::vector<std::string> ends = allgather_strings(communicator, writer ? writer->ended_by() : "");
  std::string ended;
  for (std::size_t r = 0; r < ends.size(); ++r)
    if (!ends[r].empty()) ended += cat(ended.empty() ? "" : "; ", "rank ", r, ": ", ends[r]);
  return cat(
      "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"made by\":\"Ronde\",\"ranks\":", communicator.size(),
      ",\"clocks agree within microseconds\":", worst[0] / 1e3,
      ",\"events lost\":", static_cast<std::int64_t>(lost[0]),
      ended.empty() ? "" : cat(",\"recording ended early\":", json_string(ended)), "},\"traceEvents\":[");
}

/// Rank after rank sends its events; rank 0 writes. What goes wrong there is said when all have been heard.
void Timeline::State::merge() {
  std::vector<std::string> events;
  collectively(communicator, [&] { events = own_events(); });
  const std::string head = header();
  std::unique_ptr<TimelineSink> sink;
  std::exception_ptr failure;
  const auto attempt = [&](auto&& step) {
    if (communicator.rank() != 0 || failure) return;
    try {
      step();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  };
  attempt([&] { sink = make_timeline_sink(options.path, head); });
  for (const int rank : places.recorders) {
    std::vector<std::string> pieces;
    if (rank == communicator.rank()) pieces = pieces_of(events);
    for (std::size_t i = 0;; ++i) {
      const std::string piece = broadcast_string(communicator, i < pieces.size() ? pieces[i] : "", rank);
      if (piece.empty()) break;
      attempt([&] { append_lines(*sink, piece); });
    }
  }
  attempt([&] { sink->finish(); });
  collectively(communicator, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

void Timeline::State::remove_part() const {
  if (writer) ::unlink(part_path(options.path, communicator.rank()).c_str());
}

Timeline::Timeline(Communicator& communicator, TimelineOptions options)
    : state_(std::make_unique<State>(communicator, std::move(options))) {}

Timeline::~Timeline() {
  if (std::uncaught_exceptions() > state_->exceptions) return;
  try {
    state_->stop();
  } catch (const std::exception&) {
    // Whoever wants to know calls `stop`; the parts are still there.
  }
}

void Timeline::stop() {
  state_->stop();
}

}  // namespace ronde::inline v0
