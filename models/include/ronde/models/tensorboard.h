/// TensorBoard: what `tensorboard --logdir logs` shows of a training, as Keras' callback of that name writes
/// it.
///
///     TensorBoard board({.log_dir = "logs", .histogram_freq = 1, .sample_images = &train});
///
/// | where | tag | step |
/// |---|---|---|
/// | train, validation | epoch_loss, epoch_accuracy, ... | epoch, 0-based |
/// | train | epoch_learning_rate, epoch_images_per_second | epoch |
/// | train | batch_loss, batch_accuracy, ..., batch_learning_rate (with update_freq; values of rank 0) |
/// steps done | | train | conv2d/kernel/histogram, ... (with histogram_freq) | epoch | | train | samples/0,
/// samples/1, ... (with sample_images) | 0 | | train | keras: the net for the Graphs tab (with write_graph,
/// for nets that Keras has a config for) | 0 | | validation | evaluation_loss_vs_iterations, ... | updates of
/// the weights done |
///
/// Only rank 0 writes. A directory in which no file can be made is an error on all ranks, before training; a
/// disk that is full later is a warning, and events wait in memory for the next epoch. Everything is on disk
/// at the end of each epoch, and within an epoch after at most two seconds. A resumed training drops from the
/// older files what lies behind the point where it goes on, and writes a new file.
#pragma once

#include <functional>
#include <memory>

#include <ronde/models/callback.h>
#include <ronde/models/summary_writer.h>

namespace ronde::inline v0 {

struct TensorBoardOptions {
  std::string log_dir = "logs";
  std::int64_t histogram_freq = 0;  ///< epochs between histograms of the weights; 0: none
  bool write_graph = true;
  bool write_steps_per_second = false;  ///< adds epoch_ and batch_steps_per_second
  std::int64_t update_freq = 0;         ///< steps between batch-level values; 0: only epochs (Keras' "epoch")
  const Dataset* sample_images = nullptr;  ///< its first samples are shown as pictures; must outlive fit
  std::int64_t sample_count = 8;
  /// Told on rank 0 when events cannot be written, as FitOptions::warn. Empty: a line on stderr.
  std::function<void(const std::string& problem)> warn = {};
};

class RONDE_API TensorBoard : public Callback {
 public:
  explicit TensorBoard(TensorBoardOptions options = {});
  ~TensorBoard() override;

  void on_train_begin(Model& model, const TrainingPlan& plan) override;
  void on_train_end(const Logs& logs) override;
  void on_epoch_end(std::int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(std::int64_t batch) override;
  void on_train_batch_end(std::int64_t batch, const Logs& logs) override;
  bool wants_batch_logs() const override;
  void on_test_end(const Logs& logs) override;

 private:
  void open();
  void write_beginning();
  bool is_due_after_step() const;
  void write_epoch(std::int64_t epoch, const Logs& logs);
  void write_weights(std::int64_t epoch);
  void flush();
  void try_to_flush();

  TensorBoardOptions options_;
  std::unique_ptr<SummaryWriter> train_, validation_;  // on rank 0, during training
  double batch_start_ = 0.0;                           // seconds
};

}  // namespace ronde::inline v0
