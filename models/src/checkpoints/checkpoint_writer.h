/// CheckpointWriter: encodes and writes model files in a thread, one order of files at a time.
///
///     writer.start(snapshot, {{"a.h5", false}, {"best.h5", false}});
///     ...                                       // training goes on
///     for (const WrittenFile& file : writer.wait()) ...
///
/// On rank 0 alone; it communicates with nobody. Ownership: takes the snapshot, frees it when the files are
/// written. Thread safety: used by one thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <ronde/core/error.h>
#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

struct FileOrder {
  std::string path;
  bool weights_only = false;
};

/// What became of an order.
struct WrittenFile {
  ExitStatus status = ExitStatus::ok;
  bool storage_failed = false;  ///< no room left or a failing disk: nothing that should end a training
  std::string problem;
  double seconds = 0.0;  ///< of a processor
};

class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  /// Waits for the thread: what was ordered is written, unless the process dies.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  using OnWritten = std::vector<std::function<void(const std::string& path)>>;

  /// Nothing may be in flight. `on_written` hears, on the thread, of each file that is safe.
  void start(SavedModel snapshot, std::vector<FileOrder> orders, OnWritten on_written = {});
  bool is_writing() const { return writing_.load(std::memory_order_acquire); }
  /// The results of what was started last, in its order.
  std::vector<WrittenFile> wait();

 private:
  void write_all(SavedModel snapshot);

  std::thread thread_;
  std::atomic<bool> writing_ = false;
  std::vector<FileOrder> orders_;     // of the thread while it runs
  OnWritten on_written_;              // likewise
  std::vector<WrittenFile> results_;  // likewise
};

/// `model` without the description of the net and the state: what Model::save_weights writes.
SavedModel weights_of(SavedModel model);

}  // namespace ronde::inline v0
