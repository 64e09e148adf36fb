#include "files/checkpoint_writer.h"

#include <time.h>

#include <cassert>
#include <map>
#include <new>
#include <utility>

#include <ronde/core/signals.h>
#include <ronde/core/trace.h>
#include <ronde/models/file_io.h>

#include "files/file_descriptor.h"

namespace ronde::inline v0 {

namespace {

/// Of this thread, on a processor.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The bytes of each kind of file, made when they are first needed.
class EncodedSnapshot {
 public:
  explicit EncodedSnapshot(const SavedModel& snapshot) : snapshot_(snapshot) {}
  const std::string& bytes(const FileOrder& order) {
    const SavedLayout layout = layout_for(order.path);
    std::string& bytes = bytes_[{order.weights_only, layout}];
    if (bytes.empty())
      bytes = encode_saved_model(order.weights_only ? weights_of(snapshot_) : snapshot_, layout);
    return bytes;
  }

 private:
  const SavedModel& snapshot_;
  std::map<std::pair<bool, SavedLayout>, std::string> bytes_;  // by weights only, and layout
};

WrittenFile write_one(EncodedSnapshot& snapshot, const FileOrder& order) {
  const TraceScope scope("checkpoint", "write file",
                         {"file", is_tracing() ? trace_name(order.path) : nullptr});
  try {
    const double begin = thread_seconds();
    atomic_write_file(order.path, snapshot.bytes(order));
    return {.problem = {}, .seconds = thread_seconds() - begin};
  } catch (const SystemError& error) {
    return {error.status(), error.is_storage_failure(), error.what()};
  } catch (const Error& error) {
    return {error.status(), false, error.what()};
  } catch (const std::bad_alloc&) {
    return {ExitStatus::io, true, cat(order.path, ": not enough memory to make the file")};
  } catch (const std::exception& error) {
    return {ExitStatus::failure, false, cat(order.path, ": ", error.what())};
  }
}

}  // namespace

SavedModel weights_of(const SavedModel& model) {
  SavedModel weights;
  weights.keras_version = model.keras_version;
  weights.layers = model.layers;
  weights.layers_by_class = model.layers_by_class;
  return weights;
}

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::start(SavedModel snapshot, std::vector<FileOrder> orders, OnWritten on_written) {
  assert(!thread_.joinable());
  orders_ = std::move(orders);
  on_written_ = std::move(on_written);
  results_.clear();
  writing_.store(true, std::memory_order_relaxed);
  thread_ = std::thread([this, model = std::move(snapshot)]() mutable {
    block_signals();
    name_trace_thread("checkpoint writer");
    write_all(std::move(model));
    writing_.store(false, std::memory_order_release);
  });
}

void CheckpointWriter::write_all(SavedModel snapshot) {
  EncodedSnapshot encoded(snapshot);
  for (const FileOrder& order : orders_) {
    results_.push_back(write_one(encoded, order));
    if (results_.back().status != ExitStatus::ok) continue;
    for (const auto& action : on_written_) action(order.path);
  }
}

std::vector<WrittenFile> CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  return std::move(results_);
}

}  // namespace ronde::inline v0
