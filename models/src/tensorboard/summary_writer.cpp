#include <ronde/models/summary_writer.h>

#include <fcntl.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <ronde/core/clock.h>
#include <ronde/core/machine.h>
#include <ronde/data/image_file.h>

#include "files/append_file.h"
#include "tensorboard/events.h"
#include "tensorboard/record.h"

namespace ronde::inline v0 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kFlushInterval{2};
constexpr std::size_t kMostPending = std::size_t{1} << 26;

/// TensorBoard reads the files of a directory in the order of their names, so the time comes first.
std::string file_name(const std::string& directory, int number) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%010lld", static_cast<long long>(unix_seconds()));
  return cat(directory, "/events.out.tfevents.", seconds.data(), ".", host_name(), ".",
             static_cast<long>(::getpid()), ".", number);
}

/// Descriptor and path of a new file there.
int create_file(const std::string& directory, std::string& path) {
  std::error_code ignored;  // opening says what is wrong
  std::filesystem::create_directories(directory, ignored);
  int fd = -1;
  for (int number = 0; fd < 0; ++number) {
    path = file_name(directory, number);
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) throw_errno(path, "cannot be written");
  }
  return fd;
}

}  // namespace

struct SummaryWriter::Impl {
  explicit Impl(const std::string& directory);

  std::string path;
  AppendFile file;
  std::string pending;
  Clock::time_point last_flush = Clock::now();

  void add(const std::string& event);
  /// 0, or the errno of a failure. Then events stay pending, unless they have become too many.
  int write_pending();
};

SummaryWriter::Impl::Impl(const std::string& directory) : file(create_file(directory, path)) {}

int SummaryWriter::Impl::write_pending() {
  last_flush = Clock::now();
  const int error = file.append(pending);  // half a record would hide all that come after it
  if (error == 0 || pending.size() > kMostPending) pending.clear();
  return error;
}

void SummaryWriter::Impl::add(const std::string& event) {
  pending += encode_record(event);
  if (Clock::now() - last_flush >= kFlushInterval) write_pending();  // a failure waits for flush()
}

SummaryWriter::SummaryWriter(const std::string& directory) : impl_(std::make_unique<Impl>(directory)) {
  impl_->add(file_version_event(unix_seconds()));
  flush();
}

SummaryWriter::~SummaryWriter() {
  impl_->write_pending();
}

void SummaryWriter::flush() {
  if (const int error = impl_->write_pending()) throw_errno(impl_->path, "writing failed", error);
}

const std::string& SummaryWriter::path() const {
  return impl_->path;
}

void SummaryWriter::scalar(const std::string& tag, double value, std::int64_t step) {
  impl_->add(summary_event({unix_seconds(), step}, scalar_value(tag, value)));
}

void SummaryWriter::histogram(const std::string& tag, const Tensor& values, std::int64_t step) {
  const Histogram histogram = make_histogram(values.to_vector<double>());
  if (histogram.counts.empty()) return;
  impl_->add(summary_event({unix_seconds(), step}, histogram_value(tag, histogram)));
}

void SummaryWriter::image(const std::string& tag, const Tensor& pixels, std::int64_t step) {
  impl_->add(summary_event({unix_seconds(), step}, image_value(tag, pixels.shape(), encode_png(pixels))));
}

void SummaryWriter::text(const std::string& tag, const std::string& markdown, std::int64_t step) {
  impl_->add(summary_event({unix_seconds(), step}, text_value(tag, markdown)));
}

void SummaryWriter::keras_model(const std::string& tag, const std::string& json, std::int64_t step) {
  impl_->add(summary_event({unix_seconds(), step}, keras_model_value(tag, json)));
}

void SummaryWriter::restart(std::int64_t step) {
  impl_->add(restart_event({unix_seconds(), step}));
}

}  // namespace ronde::inline v0
