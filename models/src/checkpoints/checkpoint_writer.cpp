#include "checkpoints/checkpoint_writer.h"

#include <time.h>

#include <cassert>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include <ronde/core/file_descriptor.h>
#include <ronde/core/signals.h>
#include <ronde/core/trace.h>
#include <ronde/models/file_io.h>

#include "keras_file/encode.h"

namespace ronde::inline v0 {

namespace {

/// Of this thread, on a processor.
double thread_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The bytes of each kind of file, made when they are first needed; the last kind uses up the snapshot.
class EncodedSnapshot {
 public:
  EncodedSnapshot(SavedModel snapshot, const std::vector<FileOrder>& orders)
      : snapshot_(std::move(snapshot)) {
    for (const FileOrder& order : orders) kinds_.try_emplace(kind_of(order));
    missing_ = kinds_.size();
  }
  std::string_view bytes(const FileOrder& order) {
    Kind& kind = kinds_.at(kind_of(order));
    if (kind.failure) std::rethrow_exception(kind.failure);
    if (!kind.bytes.empty()) return kind.bytes;
    try {
      kind.bytes = encode_file(content_for(order), layout_for(order.path));
    } catch (...) {
      kind.failure = std::current_exception();
      throw;
    }
    return kind.bytes;
  }

 private:
  struct Kind {
    FileBuffer bytes;
    std::exception_ptr failure;  // not tried again: the snapshot may be used up
  };
  using Key = std::pair<bool, SavedLayout>;  // weights only

  static Key kind_of(const FileOrder& order) { return {order.weights_only, layout_for(order.path)}; }
  SavedModel content_for(const FileOrder& order) {
    SavedModel content = --missing_ == 0 ? std::move(snapshot_) : snapshot_;
    if (order.weights_only) content = weights_of(std::move(content));
    return content;
  }

  SavedModel snapshot_;
  std::map<Key, Kind> kinds_;
  std::size_t missing_;  // kinds that were not tried yet
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

/// What an action throws is thrown where the training waits for the file, not here, on a thread of its own.
void tell(const std::string& path, const CheckpointWriter::OnWritten& actions, WrittenFile& result) {
  try {
    for (const auto& action : actions) action(path);
  } catch (const std::exception& error) {
    result.status = ExitStatus::failure;
    result.problem = cat(path, ": is written, but who was told of it failed: ", error.what());
  }
}

}  // namespace

SavedModel weights_of(SavedModel model) {
  SavedModel weights;
  weights.keras_version = std::move(model.keras_version);
  weights.layers = std::move(model.layers);
  weights.layers_by_class = std::move(model.layers_by_class);
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
  EncodedSnapshot encoded(std::move(snapshot), orders_);
  for (const FileOrder& order : orders_) {
    results_.push_back(write_one(encoded, order));
    if (results_.back().status == ExitStatus::ok) tell(order.path, on_written_, results_.back());
  }
}

std::vector<WrittenFile> CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  return std::move(results_);
}

}  // namespace ronde::inline v0
