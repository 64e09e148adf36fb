/// Detours: the operations of a device that go a slower way than one might think, and why.
///
/// Float copies of bf16 operands cost a pass over each of them. Either no kernel takes such operands by
/// design (takes_bfloat16.h), or a library has refused what it might have taken, or was better with copies.
/// And a convolution that a library has nothing for is computed by a kernel of our own that is right but
/// slow. Somebody should hear of it. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/call.h"

namespace ronde::inline v0::cuda {

class Detours {
 public:
  enum class Cause { design, library, choice, slow_kernel };
  struct Entry {
    Op op;
    Cause cause;
    std::string why;
    std::int64_t calls = 0;  ///< a graph's repetitions are none
    std::vector<std::string>
        places;  ///< what it was called with, each once: "layer conv2d: (32) <- (8, 32) bf16"
  };

  void add(const Call& call, Cause cause, const std::string& why);
  /// One for each operation and reason.
  std::vector<Entry> entries() const;
  /// A line for each entry that is new since the last time.
  std::vector<std::string> take_news();

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t told_ = 0;  // of them
  std::atomic<bool> has_news_ = false;
};

std::string to_string(const Detours::Entry& entry);

}  // namespace ronde::inline v0::cuda
