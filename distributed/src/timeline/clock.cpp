#include "timeline/clock.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

constexpr int kRounds = 24;

}  // namespace

ClockDifference measure_clock(Communicator& communicator, const std::function<std::int64_t()>& clock) {
  const TensorOptions host{.dtype = DType::i64, .backend = &backend("cpu")};
  const int rank = communicator.rank(), size = communicator.size();
  const Tensor own = Tensor::empty({1, 2}, host), all = Tensor::empty({size, 2}, host);
  std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most;
  std::int64_t told = 0, heard = 0;  // when this rank told its time, and when it had heard the others'
  for (int round = 0; round <= kRounds; ++round) {
    // With the others' times of this round come the ends of their last one.
    own.data<std::int64_t>()[1] = heard;
    const std::int64_t last_told = told;
    own.data<std::int64_t>()[0] = told = clock();
    communicator.allgather(all, own).wait();
    heard = clock();
    const std::int64_t rank_0_told = all.data<std::int64_t>()[0], rank_0_heard = all.data<std::int64_t>()[1];
    most = std::min(most, heard - rank_0_told);
    if (round > 0) least = std::max(least, last_told - rank_0_heard);
  }
  if (rank == 0) return {.at = heard};
  return {.nanoseconds = least + (most - least) / 2, .error = (most - least) / 2 + 1, .at = heard};
}

std::int64_t ClockLine::rank_0_time(std::int64_t own) const {
  const auto length = static_cast<double>(end.at - begin.at);
  const double share = length > 0 ? static_cast<double>(own - begin.at) / length : 0.0;
  const auto drift = static_cast<double>(end.nanoseconds - begin.nanoseconds);
  return own - begin.nanoseconds - static_cast<std::int64_t>(share * drift);
}

}  // namespace ronde::inline v0
