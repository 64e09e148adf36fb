/// What a run that was interrupted wrote behind the point where it is resumed.
#pragma once

#include <cstdint>
#include <string>

namespace ronde::inline v0 {

/// Where training goes on, in the units of the tags.
struct ResumePoint {
  std::int64_t epoch = 0;       ///< the first to be done: of "epoch_..." and ".../histogram"
  std::int64_t steps = 0;       ///< done: of "batch_..."
  std::int64_t iterations = 0;  ///< updates done: of "evaluation_..."
};

/// Rewrites the directory's event files without the events of the TensorBoard callback that lie behind that
/// point, and without a last record that was cut short. IoError.
void drop_orphans(const std::string& directory, const ResumePoint& point);

}  // namespace ronde::inline v0
