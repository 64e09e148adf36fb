#include "training/checkpointer.h"

#include <utility>

#include <ronde/core/clock.h>
#include <ronde/core/trace.h>
#include <ronde/distributed/watchdog.h>

#include "json/json.h"
#include "state/capture.h"
#include "training/evaluator.h"

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kRemembered = 5;  // files that a rollback may try

std::string to_text(const std::vector<WrittenFile>& files) {
  ConfigList list;
  for (const WrittenFile& file : files)
    list.push_back(ConfigDict{{"status", static_cast<int>(file.status)},
                              {"storage_failed", file.storage_failed},
                              {"problem", file.problem},
                              {"seconds", file.seconds}});
  return to_json(list);
}

std::vector<WrittenFile> from_text(const std::string& text) {
  std::vector<WrittenFile> files;
  const ConfigValue list = from_json(text);
  for (const ConfigValue& file : list.as_list())
    files.push_back({static_cast<ExitStatus>(file.at("status").as_int()), file.at("storage_failed").as_bool(),
                     file.at("problem").as_string(), file.at("seconds").as_double()});
  return files;
}

}  // namespace

void Checkpointer::carry_out(const SavePoint& point, const std::function<SavedRun()>& run) {
  if (point.orders().empty()) return;
  const double begin = steady_seconds();
  const TraceScope scope("checkpoint", "snapshot");
  settle(Wait::yes);
  average_statistics(model_);
  SavedRun where = run();
  const std::vector<OptimizerSlot> slots = model_.optimizer->gather_slots();
  collectively(*model_.communicator, [&] {
    if (model_.communicator->rank() != 0) return;
    std::vector<FileOrder> files;
    for (const SaveOrder& order : point.orders()) files.push_back({order.path, order.weights_only});
    writer_.start(capture(model_, std::move(where), slots), std::move(files), point.on_written());
  });
  pending_ = point.orders();
  const double pause = steady_seconds() - begin;
  last_pause_ = pause;
  for (const SaveOrder& order : pending_)
    if (order.on_snapshot) order.on_snapshot(pause);
}

/// What rank 0 knows, on all ranks.
std::vector<WrittenFile> Checkpointer::results(bool wait, bool& done) {
  Communicator& communicator = *model_.communicator;
  std::string text;
  if (communicator.rank() == 0 && (wait || !writer_.is_writing())) {
    const WatchedPhase phase(communicator, WatchedWork::checkpoint);
    text = to_text(writer_.wait());
  }
  text = broadcast_string(communicator, text);
  done = !text.empty();
  return done ? from_text(text) : std::vector<WrittenFile>();
}

void Checkpointer::settle(Wait wait) {
  if (pending_.empty()) return;
  const TraceScope scope("checkpoint", "ask the writer");
  bool done = false;
  const std::vector<WrittenFile> files = results(wait != Wait::no, done);
  if (!done) return;
  const std::vector<SaveOrder> orders = std::exchange(pending_, {});
  const WrittenFile* fatal = nullptr;
  last_save_seconds_ = last_pause_;
  unwritten_.clear();
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const WrittenFile& file = files.at(i);
    last_save_seconds_ += file.seconds;
    const bool failed = file.status != ExitStatus::ok;
    // Where files could be written before, the place is right, and what is wrong now may pass.
    const bool may_pass = file.storage_failed || (file.status == ExitStatus::io && has_written_);
    if (failed) unwritten_ = orders[i].path;
    if (failed && may_pass)
      warn_(cat(file.problem, wait == Wait::at_the_end ? "; " : "; training goes on, ",
                "earlier checkpoints are as they were"));
    if (failed && !may_pass && !fatal) fatal = &file;
    if (!failed) remember(orders[i]);
    if (orders[i].on_settled) orders[i].on_settled({!failed, file.problem, file.seconds});
  }
  if (fatal) throw CollectiveError(fatal->problem, fatal->status, *model_.communicator, 0);
}

void Checkpointer::remember(const SaveOrder& order) {
  has_written_ = true;
  if (order.weights_only) return;
  ++written_count_;
  std::erase(written_, order.path);
  written_.insert(written_.begin(), order.path);
  if (written_.size() > kRemembered) written_.pop_back();
}

std::vector<std::string> Checkpointer::written() {
  settle(Wait::yes);
  std::vector<std::string> paths;
  for (const std::string& path : written_) paths.push_back(broadcast_string(*model_.communicator, path));
  return paths;
}

void Checkpointer::finish() {
  settle(Wait::at_the_end);
  if (!unwritten_.empty()) warn_("training has ended, but its last checkpoint could not be written");
}

}  // namespace ronde::inline v0
