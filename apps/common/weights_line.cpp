#include "common/weights_line.h"

#include <cstdio>

#include <ronde/distributed/communicator.h>

namespace ronde::apps {

void WeightsLine::on_epoch_end(std::int64_t epoch, Logs&) {
  if (!is_main_rank()) return;
  std::printf("Epoch %lld: weights_sha256 %s on all %d ranks\n", static_cast<long long>(epoch + 1),
              model().weights_sha256().c_str(), model().communicator().size());
}

}  // namespace ronde::apps
