#include "files/upload_target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "files/child_command.h"

#include <ronde/core/file_descriptor.h>

namespace ronde::inline v0 {

namespace {

/// As a shell would, but for variables, patterns and the backslash.
std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else
      words.back() += c;
  }
  require<UsageError>(quote == 0, "[uploader] ", text, ": a quote is not closed");
  return words;
}

std::string filled_in(const std::string& word, const std::string& file, const std::string& name) {
  std::string text;
  for (std::size_t at = 0; at < word.size();) {
    const auto is_here = [&](const char* key) { return word.compare(at, 6, key) == 0; };
    if (is_here("{file}") || is_here("{name}")) {
      text += word[at + 1] == 'f' ? file : name;
      at += 6;
    } else {
      text += word[at++];
    }
  }
  return text;
}

std::string find_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  const std::string places = path ? path : "/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= places.size();) {
    const std::size_t end = std::min(places.find(':', begin), places.size());
    const std::string candidate = cat(places.substr(begin, end - begin), '/', program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return "";
}

void copy_bytes(const std::string& from, FileDescriptor& to, const std::string& path) {
  FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.is_open()) throw_errno(from, "cannot be opened");
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(from, "reading failed");
    if (got == 0) return;
    write_all(to.get(), {buffer.data(), static_cast<std::size_t>(got)}, path);
  }
}

/// Whoever reads `to` sees all of it or none. Locks and links, which a mounted store may not have, are not
/// used.
void copy_file(const std::string& from, const std::string& to) {
  std::filesystem::create_directories(std::filesystem::path(to).parent_path());
  const std::string part = to + ".part";
  FileDescriptor target(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!target.is_open()) throw_errno(part, "cannot be written");
  copy_bytes(from, target, part);
  if (::fsync(target.get()) != 0 && errno != EINVAL) throw_errno(part, "syncing failed");
  if (target.close() != 0 && errno != EINTR) throw_errno(part, "closing failed");
  if (::rename(part.c_str(), to.c_str()) != 0) throw_errno(to, "cannot be replaced");
}

}  // namespace

UploadTarget::UploadTarget(const std::string& text, double timeout) : directory_(text), timeout_(timeout) {
  require<UsageError>(!text.empty(), "[uploader] needs a directory, or a command with {file} in it");
  if (text.find("{file}") != std::string::npos) {
    words_ = split_words(text);
    require<UsageError>(words_.front().find('{') == std::string::npos, "[uploader] ", text,
                        ": begins with no program");
    return;
  }
  const bool is_address = text.find("://") != std::string::npos || text.find(' ') != std::string::npos;
  require<UsageError>(!is_address, "[uploader] ", text,
                      ": is no directory; a command says which of its words is the file: 'aws s3 cp {file} "
                      "s3://bucket/run/{name}'");
}

void UploadTarget::prepare() const {
  if (is_command()) {
    require<IoError>(!find_in_path(words_.front()).empty(), "[uploader] ", words_.front(),
                     ": no such program here");
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (!error && ::access(directory_.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  require<IoError>(!error, "[uploader] cannot write in ", directory_, ": ", error.message());
}

std::vector<std::string> UploadTarget::command(const std::string& file, const std::string& name) const {
  std::vector<std::string> words;
  for (const std::string& word : words_) {
    words.push_back(filled_in(word, file, name));
    // A name that begins with a dash is no option.
    if (word.starts_with("{name}") && words.back().starts_with('-')) words.back().insert(0, "./");
  }
  return words;
}

std::string UploadTarget::put(const std::string& file, const std::string& name,
                              const std::atomic<bool>& give_up) const {
  try {
    if (is_command()) return run_command(command(file, name), timeout_, give_up);
    copy_file(file, cat(directory_, '/', name));
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace ronde::inline v0
