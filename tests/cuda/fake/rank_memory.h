/// RankMemory: what the ranks of a fake group share, threads of a process or processes of a machine: a file
/// of memory, with a place for each rank's numbers and how far it is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ronde::test {

class RankMemory {
 public:
  static constexpr std::size_t kRanks = 16;
  static constexpr std::size_t kBytes = std::size_t{64} << 20;  // of one rank; taken when it is used

  struct Rank {
    std::atomic<std::int64_t> arrived = 0;  ///< calls whose numbers lie here
    std::atomic<std::int64_t> done = 0;     ///< calls that this rank has finished reading
    std::atomic<std::int64_t> call = 0;     ///< what the latest one is
    std::atomic<std::int64_t> place = 0;    ///< of it in a window
    std::atomic<std::int64_t> windows = 0;  ///< that it has begun to open
    /// Of the latest two of them: when in the order of its calls, and how large. It waits for the others
    /// before a third.
    std::array<std::atomic<std::int64_t>, 2> window_call = {}, window_bytes = {};
    std::atomic<int> joined = 0;
    std::atomic<int> broken = 0;  ///< aborted, or failed by itself
  };

  /// The same for all ranks that give the same name; who comes last takes the name away.
  RankMemory(const std::string& name, int rank, int size);
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  Rank& rank(int i) { return shared_->ranks[static_cast<std::size_t>(i)]; }
  char* bytes(int i) { return bytes_ + static_cast<std::size_t>(i) * kBytes; }
  bool all_joined(int size);
  bool any_broken(int size);
  /// Whether all ranks have begun to open their window of this number, counted from 1.
  bool all_opened(std::int64_t window, int size);
  /// Whether it is everybody's at the same place in the order of calls, and of the same size.
  bool same_window(std::int64_t window, int size);

  static std::string new_name();

 private:
  struct Shared {
    std::array<Rank, kRanks> ranks;
    std::atomic<int> here = 0;
  };

  Shared* shared_ = nullptr;
  char* bytes_ = nullptr;
};

}  // namespace ronde::test
