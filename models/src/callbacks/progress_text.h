/// The text of Keras 2's progress bar, and images/s or samples/s behind it. Pure functions; times in seconds.
#pragma once

#include <string>

#include <ronde/models/model.h>

namespace ronde::inline v0 {

struct ProgressState {
  std::int64_t steps = 0;   ///< done
  std::int64_t target = 0;  ///< of the epoch
  double seconds = 0.0;     ///< since the epoch began
  double seconds_per_step = 0.0;
  double samples_per_second = 0.0;  ///< of all ranks; 0: not known, not shown
  bool are_images = true;           ///< the samples
  std::int64_t bar_width = 30;
};

/// "235/469 [==============>...............] - ETA: 4s - loss: 0.3982"; at the end of the epoch
/// "469/469 [==============================] - 9s 19ms/step - loss: ..."
std::string bar_text(const ProgressState& state, const Logs& logs, bool final);
/// The same while an epoch runs, in at most so many columns: with a shorter bar, and if that is not enough
/// with less behind it. A line that wraps cannot be painted over.
std::string fitting_bar_text(ProgressState state, const Logs& logs, std::size_t columns);
/// "469/469 - 9s - loss: 0.2311 - 9s/epoch - 19ms/step"
std::string line_text(const ProgressState& state, const Logs& logs);

}  // namespace ronde::inline v0
