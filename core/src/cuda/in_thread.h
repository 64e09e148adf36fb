/// InThread: what an object is to do differently for one thread, while this lives in it.
///
/// A device is used by several threads; what one of them repeats or captures is not the others' business.
/// Where one has several of a kind for an object the latest counts.
#pragma once

namespace ronde::inline v0::cuda {

class InThread {
 public:
  enum class Kind { repetition, gate, pool, turn };

  InThread(const void* object, Kind kind, const void* value);
  /// In the thread that made it.
  ~InThread();
  InThread(const InThread&) = delete;
  InThread& operator=(const InThread&) = delete;

  /// nullptr: there is none in this thread.
  static const InThread* find(const void* object, Kind kind);
  const void* value() const { return value_; }

 private:
  const void* object_;
  Kind kind_;
  const void* value_;
  InThread* before_;
};

}  // namespace ronde::inline v0::cuda
