#include <ronde/models/csv_logger.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <ronde/models/file_io.h>

#include "callbacks/python_number.h"
#include "files/append_file.h"
#include "messages/warn.h"

namespace ronde::inline v0 {

namespace {

/// The csv dialect "excel": quotes only where needed.
std::string cell(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

/// The cells of a line, without quotes.
std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool doubled = quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"';
    if (doubled) {
      cells.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == separator && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

/// The epoch that a row begins with; -1 for any other line.
std::int64_t epoch_of(std::string_view line) {
  std::int64_t epoch = -1;
  std::from_chars(line.data(), line.data() + line.size(), epoch);
  return epoch;
}

}  // namespace

CSVLogger::CSVLogger(CSVLoggerOptions options) : options_(std::move(options)) {}

CSVLogger::~CSVLogger() {
  close();
}

void CSVLogger::close() {
  file_.reset();
  pending_.clear();
  keys_.clear();
}

void CSVLogger::on_train_begin(Model& model, const TrainingPlan&) {
  collectively(model.communicator(), [&] {
    if (is_main_rank()) open();
  });
}

void CSVLogger::open() {
  close();
  const std::string& path = options_.filename;
  std::error_code ignored;  // opening says what is wrong
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  const bool go_on = options_.append || plan().resumed;
  const bool has_text = std::filesystem::file_size(path, ignored) > 0 && !ignored;
  needs_header_ = !go_on || !has_text;
  if (plan().resumed && has_text) atomic_write_file(path, continued(read_file(path), plan().initial_epoch));
  file_ = AppendFile::open(path, go_on);
}

/// The file's text without the rows at its end that a training from `first_epoch` on writes anew. Takes the
/// columns from its header.
std::string CSVLogger::continued(const std::string& text, std::int64_t first_epoch) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(std::string_view(text).substr(begin, end + 1 - begin));
  while (!lines.empty() && epoch_of(lines.back()) >= first_epoch) lines.pop_back();
  needs_header_ = lines.empty();
  if (lines.empty()) return {};
  std::string_view header = lines.front();
  header.remove_suffix(header.ends_with("\r\n") ? 2 : 1);
  keys_ = cells_of(header, options_.separator);
  keys_.erase(keys_.begin());
  return text.substr(0, static_cast<std::size_t>(lines.back().end() - std::string_view(text).begin()));
}

void CSVLogger::on_epoch_end(std::int64_t epoch, Logs& logs) {
  if (!file_) return;
  pending_ += row(epoch, logs);
  write_pending();
}

void CSVLogger::write_pending() {
  if (const int error = file_->append(pending_))
    return warn_or_print(options_.warn, cat(options_.filename, ": writing failed: ", std::strerror(error)));
  pending_.clear();
}

void CSVLogger::choose_keys(const Logs& logs) {
  for (const auto& [name, value] : logs.entries()) keys_.push_back(name);
  std::sort(keys_.begin(), keys_.end());
  const auto is_validation = [](const std::string& key) { return key.starts_with("val_"); };
  if (std::any_of(keys_.begin(), keys_.end(), is_validation)) return;
  for (std::size_t i = 0, count = keys_.size(); i < count; ++i) keys_.push_back("val_" + keys_[i]);
}

std::string CSVLogger::row(std::int64_t epoch, const Logs& logs) {
  if (keys_.empty()) choose_keys(logs);
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
    text += options_.separator + (value ? python_number(*value) : "NA");
  }
  return text + "\r\n";
}

void CSVLogger::on_train_end(const Logs&) {
  if (!pending_.empty()) write_pending();
  close();
}

}  // namespace ronde::inline v0
