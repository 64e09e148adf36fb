#include <ronde/models/csv_logger.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace ronde::inline v0 {

namespace {

std::string number(double value) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// The csv dialect "excel": quotes only where needed.
std::string cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace

CSVLogger::CSVLogger(CSVLoggerOptions options) : options_(std::move(options)) {}

CSVLogger::~CSVLogger() {
  if (file_) std::fclose(file_);
}

void CSVLogger::on_train_begin(Model& model, const TrainingPlan&) {
  collectively(model.communicator(), [&] {
    if (is_main_rank()) open();
  });
}

void CSVLogger::open() {
  const auto parent = std::filesystem::path(options_.filename).parent_path();
  std::error_code ignored;  // opening says what is wrong
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  struct stat info {};
  needs_header_ = !options_.append || ::stat(options_.filename.c_str(), &info) != 0 || info.st_size == 0;
  file_ = std::fopen(options_.filename.c_str(), options_.append ? "ab" : "wb");
  if (!file_) throw IoError(cat(options_.filename, ": cannot be written: ", std::strerror(errno)));
}

void CSVLogger::on_epoch_end(std::int64_t epoch, Logs& logs) {
  collectively(model().communicator(), [&] {
    if (is_main_rank()) write_row(epoch, logs);
  });
}

void CSVLogger::write_row(std::int64_t epoch, const Logs& logs) {
  if (keys_.empty()) {
    for (const auto& [name, value] : logs.entries()) keys_.push_back(name);
    std::sort(keys_.begin(), keys_.end());
  }
  std::string text;
  if (needs_header_) {
    text = "epoch";
    for (const std::string& key : keys_) text += options_.separator + cell(key, options_.separator);
    text += "\r\n";
    needs_header_ = false;
  }
  text += std::to_string(epoch);
  for (const std::string& key : keys_) {
    const double* value = logs.find(key);
    text += options_.separator + (value ? number(*value) : "NA");
  }
  text += "\r\n";
  if (std::fputs(text.c_str(), file_) < 0 || std::fflush(file_) != 0)
    throw IoError(cat(options_.filename, ": writing failed: ", std::strerror(errno)));
}

void CSVLogger::on_train_end(const Logs&) {
  if (file_) std::fclose(file_);
  file_ = nullptr;
  keys_.clear();
}

}  // namespace ronde::inline v0
