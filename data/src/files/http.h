/// Fetching one URL into an open file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ronde::inline v0 {

struct FetchOptions {
  std::int64_t max_bytes = 0;
  int connect_timeout_s = 3;
  int stall_timeout_s = 10;
  std::function<void(std::int64_t bytes, std::int64_t total)> progress = {};
};

/// Writes what `url` delivers to `descriptor`. Returns "" or the reason why it failed; the network's faults
/// are expected here, so they are no exceptions. Throws what `progress` throws, and IoError for a full disk.
std::string fetch(const std::string& url, int descriptor, const FetchOptions& options);

}  // namespace ronde::inline v0
