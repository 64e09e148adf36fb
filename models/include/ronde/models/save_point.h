/// SavePoint: the moment after a step or an epoch when every callback has seen it, and a checkpoint can be
/// ordered from within Callback::on_save_point.
///
///     void on_save_point(SavePoint& point) override {
///       if (point.ends_epoch()) point.save({.path = cat("epoch-", point.epoch() + 1, ".h5")});
///     }
///
/// All orders of a save point share one snapshot in memory, taken when the last callback has been asked, so
/// each file holds the state of every callback, whatever their order. Training pauses for the snapshot; the
/// files are encoded and written by a thread while it goes on. One such write is in flight: the next snapshot
/// waits for it. All ranks must order the same. Thread safety: used on the thread that trains.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ronde/models/model.h>

namespace ronde::inline v0 {

/// What became of a file that was ordered.
struct SaveOutcome {
  bool written = false;
  std::string problem;  ///< of rank 0, when it was not
  /// Processor time of rank 0 for encoding and writing.
  double write_seconds = 0.0;
};

struct SaveOrder {
  std::string path;  ///< rank 0's counts
  bool weights_only = false;
  /// Called on all ranks when the snapshot is taken, with the seconds for which training paused.
  std::function<void(double pause)> on_snapshot = {};
  /// Called on all ranks once the file is there or writing has failed: at the next snapshot, at the end of an
  /// epoch, or at the end of training.
  std::function<void(const SaveOutcome&)> on_settled = {};
};

class RONDE_API SavePoint {
 public:
  using ReduceLogs = std::function<Logs()>;
  /// `batch` < 0: the end of an epoch.
  SavePoint(std::int64_t epoch, std::int64_t batch, ReduceLogs reduce_logs);

  /// 0-based.
  std::int64_t epoch() const { return epoch_; }
  /// 0-based.
  std::int64_t batch() const { return batch_; }
  bool ends_epoch() const { return batch_ < 0; }
  /// Means over all ranks: of the epoch so far, or all values of the epoch that ended. The first call after a
  /// step is collective.
  const Logs& logs();

  void save(SaveOrder order) { orders_.push_back(std::move(order)); }
  /// On rank 0, told of each file of this save point, whoever ordered it, as soon as it is safe: on the
  /// thread that writes, so it must be quick and must not communicate.
  void on_written(std::function<void(const std::string& path)> action) {
    on_written_.push_back(std::move(action));
  }
  const std::vector<std::function<void(const std::string& path)>>& on_written() const { return on_written_; }
  /// Training waits until the files of this save point are written, or have failed, and then calls this on
  /// all ranks; it may throw. All ranks must ask for it.
  void then(std::function<void()> action) { then_ = std::move(action); }
  const std::function<void()>& then() const { return then_; }
  /// What the last save took, the pause of this rank included; 0: there was none.
  double last_save_seconds() const { return last_save_seconds_; }
  void set_last_save_seconds(double seconds) { last_save_seconds_ = seconds; }
  const std::vector<SaveOrder>& orders() const { return orders_; }

 private:
  std::int64_t epoch_;
  std::int64_t batch_;
  ReduceLogs reduce_logs_;
  bool has_logs_ = false;
  Logs logs_;
  std::vector<SaveOrder> orders_;
  std::vector<std::function<void(const std::string& path)>> on_written_;
  std::function<void()> then_;
  double last_save_seconds_ = 0.0;
};

}  // namespace ronde::inline v0
