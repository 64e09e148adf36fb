#include <ronde/models/save_point.h>

#include <utility>

namespace ronde::inline v0 {

SavePoint::SavePoint(std::int64_t epoch, std::int64_t batch, ReduceLogs reduce_logs)
    : epoch_(epoch), batch_(batch), reduce_logs_(std::move(reduce_logs)) {}

const Logs& SavePoint::logs() {
  if (!std::exchange(has_logs_, true)) logs_ = reduce_logs_();
  return logs_;
}

}  // namespace ronde::inline v0
