/// Which of a pool's threads this is, for what each of them should find where it left it.
#pragma once

namespace ronde::inline v0 {

/// From 1; 0 for a thread that is no worker of a pool, such as the one that starts a loop.
int worker_number();

}  // namespace ronde::inline v0
