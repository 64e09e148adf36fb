#include "common/replica_check.h"

#include <cstdio>

#include <ronde/distributed/communicator.h>

namespace ronde::apps {

void ReplicaCheck::on_epoch_end(std::int64_t epoch, Logs&) {
  const std::vector<std::string> hashes = allgather_strings(model().communicator(), model().weights_sha256());
  for (std::size_t r = 1; r < hashes.size(); ++r)
    if (hashes[r] != hashes[0])
      throw CollectiveError(
          cat("after epoch ", epoch + 1, " the weights have SHA-256 ", hashes[r], " on rank ", r, " and ",
              hashes[0], " on rank 0: run again, and suspect rank ", r, "'s machine"),
          ExitStatus::replicas_differ, static_cast<int>(r));
  if (verbose_ && is_main_rank())
    std::printf("Epoch %lld: weights_sha256 %s on all %zu ranks\n", static_cast<long long>(epoch + 1),
                hashes[0].c_str(), hashes.size());
}

}  // namespace ronde::apps
