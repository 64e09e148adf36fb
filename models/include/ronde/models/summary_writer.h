/// SummaryWriter: an event file that TensorBoard reads, for values of one's own.
///
///     SummaryWriter writer("logs/mine");             // the run "mine" in TensorBoard
///     writer.scalar("temperature", 21.5, step);
///     writer.flush();
///
/// The directory is the run: TensorBoard shows it under its name. Each writer makes a file of its own in it,
/// events.out.tfevents.TIME.HOST.PID.NUMBER. Events wait in memory until `flush`, which also happens by
/// itself every two seconds at most and at the end. Thread safety: one thread at a time. In a group of ranks
/// let one rank write.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class RONDE_API SummaryWriter {
 public:
  /// Makes missing directories and the file. IoError.
  explicit SummaryWriter(const std::string& directory);
  /// Flushes; a failure is lost then.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  void scalar(const std::string& tag, double value, std::int64_t step);
  /// Of all finite elements, in 30 buckets of equal width, as tf.summary.histogram makes them.
  void histogram(const std::string& tag, const Tensor& values, std::int64_t step);
  /// u8 (h, w, c), c = 1 or 3.
  void image(const std::string& tag, const Tensor& pixels, std::int64_t step);
  void text(const std::string& tag, const std::string& markdown, std::int64_t step);
  /// A net as Keras' model.to_json() describes it, for the Graphs tab.
  void keras_model(const std::string& tag, const std::string& json, std::int64_t step);
  /// Says that steps from `step` on begin anew: TensorBoard forgets what earlier files of this run have of
  /// them, under all tags.
  void restart(std::int64_t step);

  /// IoError when the file system refuses; then the events wait for the next flush (64 MiB at most).
  void flush();
  const std::string& path() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ronde::inline v0
