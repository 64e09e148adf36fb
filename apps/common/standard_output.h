/// What became of all that was printed.
#pragma once

namespace ronde::apps {

/// Flushes stdout. False when something did not arrive, as on a full disk; a line on stderr says so. A stdout
/// that was closed from the start is nobody's loss.
bool flush_standard_output();

}  // namespace ronde::apps
