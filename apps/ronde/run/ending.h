/// What the end of a job means for whoever started it.
#pragma once

#include <string>

namespace ronde::apps {

enum class Verdict {
  done,      ///< with success
  saved,     ///< was told to end, and has saved
  is_final,  ///< trying again would end the same
  try_again,
};

Verdict judge(int status);
/// Of a job that was told to end and has: `saved`, to be started again, unless its ranks say that they could
/// not save, or that starting again would be of no use.
int status_when_told_to_end(int status);
/// "a rank hung (exit status 86)", "signal 9 (Killed)"
std::string describe_status(int status);

}  // namespace ronde::apps
