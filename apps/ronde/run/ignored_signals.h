/// Signals that whoever started this process wants it to ignore.
#pragma once

namespace ronde::apps {

/// As nohup, and shells for what they start in the background, do for their children's sake. Known from before
/// libraries set handlers of their own, as UCX, which comes with Open MPI 5, does for SIGHUP.
bool was_started_ignoring(int signal);

}  // namespace ronde::apps
