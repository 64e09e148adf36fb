#include "training/checkpointer.h"

#include <chrono>
#include <utility>

#include <ronde/core/trace.h>

#include "capture.h"
#include "keras_file/json.h"
#include "training/evaluator.h"

namespace ronde::inline v0 {

namespace {

std::string to_text(const std::vector<WrittenFile>& files) {
  ConfigList list;
  for (const WrittenFile& file : files)
    list.push_back(ConfigDict{{"status", static_cast<int>(file.status)},
                              {"storage_failed", file.storage_failed},
                              {"problem", file.problem}});
  return to_json(list);
}

std::vector<WrittenFile> from_text(const std::string& text) {
  std::vector<WrittenFile> files;
  const ConfigValue list = from_json(text);
  for (const ConfigValue& file : list.as_list())
    files.push_back({static_cast<ExitStatus>(file.at("status").as_int()), file.at("storage_failed").as_bool(),
                     file.at("problem").as_string()});
  return files;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void Checkpointer::carry_out(const SavePoint& point, const std::function<SavedRun()>& run) {
  if (point.orders().empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  const TraceScope scope("checkpoint", "snapshot");
  settle(true);
  average_statistics(model_);
  SavedRun where = run();
  const std::vector<OptimizerSlot> slots = model_.optimizer->gather_slots();
  collectively(*model_.communicator, [&] {
    if (model_.communicator->rank() != 0) return;
    std::vector<FileOrder> files;
    for (const SaveOrder& order : point.orders()) files.push_back({order.path, order.weights_only});
    writer_.start(capture(model_, std::move(where), slots), std::move(files));
  });
  pending_ = point.orders();
  const double pause = seconds_since(begin);
  for (const SaveOrder& order : pending_)
    if (order.on_snapshot) order.on_snapshot(pause);
}

/// What rank 0 knows, on all ranks.
std::vector<WrittenFile> Checkpointer::results(bool wait, bool& done) {
  Communicator& communicator = *model_.communicator;
  std::string text;
  if (communicator.rank() == 0 && (wait || !writer_.is_writing())) text = to_text(writer_.wait());
  text = broadcast_string(communicator, text);
  done = !text.empty();
  return done ? from_text(text) : std::vector<WrittenFile>();
}

void Checkpointer::settle(bool wait) {
  if (pending_.empty()) return;
  const TraceScope scope("checkpoint", "ask the writer");
  bool done = false;
  const std::vector<WrittenFile> files = results(wait, done);
  if (!done) return;
  const std::vector<SaveOrder> orders = std::exchange(pending_, {});
  const WrittenFile* fatal = nullptr;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const WrittenFile& file = files.at(i);
    last_failed_ = file.status != ExitStatus::ok;
    if (last_failed_ && file.storage_failed)
      warn_(cat(file.problem, "; training goes on, earlier checkpoints are as they were"));
    if (last_failed_ && !file.storage_failed && !fatal) fatal = &file;
    if (orders[i].on_settled) orders[i].on_settled({!last_failed_, file.problem});
  }
  if (fatal) throw CollectiveError(fatal->problem, fatal->status, 0);
}

void Checkpointer::finish() {
  settle(true);
  if (last_failed_) warn_("training has ended, but its last checkpoint could not be written");
}

}  // namespace ronde::inline v0
