#include "common/take_over.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include <ronde/distributed/communicator.h>
#include <ronde/models/latest_checkpoint.h>

namespace ronde::apps {
namespace {

void put_aside(const std::string& path) {
  std::error_code error;
  std::string name = path + kDamagedEnding;
  for (int i = 2; std::filesystem::exists(name, error); ++i) name = cat(path, ".", i, kDamagedEnding);
  std::filesystem::rename(path, name, error);
  if (!error) std::fprintf(stderr, "ronde: note: %s: kept as %s\n", path.c_str(), name.c_str());
}

void leave_mark(const std::string& path) {
  std::ofstream file(path);
  file << "Checkpoints older than this file are of an earlier run: --resume auto passes them over.\n";
  if (!file.flush())
    std::fprintf(stderr,
                 "ronde: warning: %s: cannot be written: --resume auto may go on with the earlier run\n",
                 path.c_str());
}

}  // namespace

void TakeOver::on_train_batch_begin(std::int64_t) {
  if (std::exchange(done_, true)) return;
  // So that no rank is seen in a step, and lost, while this is still to be done.
  collectively(model().communicator(), [&] {
    if (!is_main_rank()) return;
    for (const std::string& path : start_.damaged) put_aside(path);
    if (!start_.earlier.empty()) leave_mark(files_.new_run);
  });
}

}  // namespace ronde::apps
