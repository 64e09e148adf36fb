#include "common/take_over.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include <ronde/distributed/communicator.h>
#include <ronde/models/latest_checkpoint.h>
#include <ronde/models/save_point.h>

namespace ronde::apps {
namespace {

void put_aside(const std::string& path) {
  std::error_code error;
  std::string name = path + kDamagedEnding;
  for (int i = 2; std::filesystem::exists(name, error); ++i) name = cat(path, ".", i, kDamagedEnding);
  std::filesystem::rename(path, name, error);
  if (!error) std::fprintf(stderr, "ronde: note: %s: kept as %s\n", path.c_str(), name.c_str());
}

}  // namespace

void TakeOver::on_train_batch_begin(std::int64_t) {
  if (std::exchange(done_, true)) return;
  // So that no rank is seen in a step, and lost, while this is still to be done.
  collectively(model().communicator(), [&] {
    if (!is_main_rank()) return;
    for (const std::string& path : start_.damaged) put_aside(path);
    EarlierFiles earlier(files_.new_run);
    if (!start_.earlier.empty()) earlier.begin(start_.earlier_files);
    if (earlier.has_names()) earlier_ = std::move(earlier);
  });
}

void TakeOver::on_save_point(SavePoint& point) {
  if (earlier_) point.on_written([this](const std::string& path) { earlier_->forget(path); });
}

}  // namespace ronde::apps
