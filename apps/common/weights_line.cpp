#include "common/weights_line.h"

#include <cstdio>

#include <ronde/distributed/communicator.h>

namespace ronde::apps {

void WeightsLine::on_epoch_end(std::int64_t epoch, Logs&) {
  if (!is_main_rank()) return;
  const int ranks = model().communicator().size();
  const std::string where = ranks == 1 ? "" : cat(" on all ", ranks, " ranks");
  std::printf("Epoch %lld: weights_sha256 %s%s\n", static_cast<long long>(epoch + 1),
              model().weights_sha256().c_str(), where.c_str());
}

}  // namespace ronde::apps
