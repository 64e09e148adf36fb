/// Scheduler: streams and events of the fake device. Nothing runs when it is given; when the host asks how
/// far the device is, some of what may run does, in an order drawn at random among the legal ones.
///
/// What may run at the same time must not touch the same memory. That is checked when work is given, with a
/// clock per stream (what it knows to have run before): so a missing event is found in every run, however the
/// draws fall. Not thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ronde::test {

/// A range of memory that an operation uses.
struct Access {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool writes = false;
};

/// What an operation throws when nothing can run any more.
struct DeviceLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Operation {
  std::function<void()> run;  ///< may throw: DeviceLost, or what is a complaint only
  std::vector<Access> accesses = {};
  int delay = 0;                        ///< is passed over so many times
  bool hangs = false;                   ///< never ends
  std::function<bool()> is_ready = {};  ///< asked when it is the stream's next; not set: it is
};

class Scheduler {
 public:
  using Clock = std::vector<std::uint64_t>;  ///< for each stream, up to which of its operations

  struct Mark {
    bool is_set = false;
    std::size_t stream = 0;
    std::uint64_t position = 0;
    Clock clock = {};
  };

  explicit Scheduler(std::uint64_t seed) : random_(seed) {}

  std::size_t add_stream();
  std::size_t streams() const { return streams_.size(); }
  /// Empty, or why the operation may not run beside what was given to other streams; then it was not given.
  std::string give(std::size_t stream, Operation operation);
  Mark mark(std::size_t stream) const;
  void wait(std::size_t stream, const Mark& mark);
  /// Runs some operations; says whether what `mark` stands for has run. The host knows it then.
  bool ask(const Mark& mark);
  /// Runs some operations.
  void nudge();
  /// Whether something that has perhaps not run yet uses this memory.
  bool may_be_used(const Access& memory) const;
  /// From here on nothing runs.
  void lose(const std::string& why) { failure_ = why; }
  /// Why the device was lost; empty: it was not.
  const std::string& failure() const { return failure_; }
  /// What an operation complained of first since the last call; empty: nothing.
  std::string take_complaint() { return std::exchange(complaint_, {}); }

 private:
  struct Pending {
    Operation operation;
    std::vector<Mark> after;
  };
  struct Stream {
    std::deque<Pending> queue;
    std::vector<Mark> after;  ///< for what is given next
    std::uint64_t given = 0, done = 0;
    Clock clock;
  };
  struct Past {
    Access access;
    std::size_t stream;
    std::uint64_t position;
  };

  bool has_passed(const Mark& mark) const;
  bool can_run(const Stream& stream) const;
  bool run_one();
  std::string conflict(std::size_t stream, const Operation& operation) const;

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Past> past_;
  Clock host_;
  std::string failure_, complaint_;
};

}  // namespace ronde::test
