#include "files/file_remover.h"

#include <unistd.h>

#include <system_error>
#include <utility>

#include <ronde/core/signals.h>

namespace ronde::inline v0 {

namespace {

void unlink_all(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) ::unlink(path.c_str());
}

}  // namespace

void FileRemover::remove(std::vector<std::string> paths) {
  wait();
  if (paths.empty()) return;
  try {
    thread_ = std::thread([paths] {
      block_signals();
      unlink_all(paths);
    });
  } catch (const std::system_error&) {
    unlink_all(paths);  // no thread to be had
  }
}

void FileRemover::wait() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace ronde::inline v0
