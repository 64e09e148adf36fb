/// DeviceGroup: the GPUs of several ranks, and what they do together without their hosts: NCCL.
///
///     const std::string id = rank == 0 ? DeviceGroup::make_id(gpu) : "";   // brought to all ranks
///     DeviceGroup group(gpu, id, rank, size);
///     const auto sum = group.start({.out = gradients, .in = gradients});
///     ...                                // kernels run beside it, on another stream
///     sum->join();                       // kernels from here on come after it
///
/// A call comes after all that the backend was given before, and runs on a stream of its own; nothing here
/// makes the host wait, but for the constructor and `Started::wait`. So calls may be part of a RepeatedStep's
/// body. All ranks make the same calls in the same order; that is not checked. `NcclCommunicator` of the room
/// above is how a program uses it.
///
/// What goes wrong on the way, here or on another rank, is noticed by `poll`; then, and after `give_up`, the
/// whole device is lost to this process, and everything that waits for it ends with an error. Thread safety:
/// `poll` and `give_up` from any thread, all else from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

class RONDE_API DeviceGroup {
 public:
  enum class Verb : std::uint8_t { allreduce, broadcast, allgather, reduce_scatter };
  enum class Combine : std::uint8_t { sum, average, min, max, product };

  /// Dense tensors on the backend. `out` may be `in`; of allgather and reduce_scatter the smaller one may be
  /// this rank's part of the larger one.
  struct Call {
    Verb verb = Verb::allreduce;
    Tensor out, in;
    Combine combine = Combine::sum;
    int root = 0;
  };

  /// A call that was started. Keeps its tensors.
  class RONDE_API Started {
   public:
    virtual ~Started() = default;
    /// What the backend is given from now on comes after it.
    virtual void join() = 0;
    /// Whether it has run; not in a capture.
    virtual bool done() = 0;
    /// The host waits until it has: asks all the time at first, after some 100 us with ever longer pauses.
    virtual void wait() = 0;
  };

  /// Why the backend cannot be part of a group; empty: it can.
  static std::string obstacle(Backend& backend);
  /// Which GPU it is, for people to read; the same for all processes of a machine.
  static std::string hardware(Backend& backend);
  /// Bytes that name a new group.
  static std::string make_id(Backend& backend);

  /// Returns when all ranks are there. An Error when one of them cannot.
  DeviceGroup(Backend& backend, const std::string& id, int rank, int size);
  /// Together with the other ranks; or alone, after an error.
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  std::shared_ptr<Started> start(const Call& call);
  /// A mark behind all that was started and that the backend was given.
  std::shared_ptr<Started> mark();
  /// Whether a RepeatedStep has its body called without the device, or captures it.
  bool leaves_out() const;
  bool is_capturing() const;

  /// Memory that this rank has for a window, which the devices of all ranks reach; nullptr: none, for lack of
  /// memory, in a library without windows or with `$RONDE_NCCL_WINDOWS=off`.
  std::shared_ptr<void> window_memory(std::size_t bytes);
  /// Zeros that calls use again and again: registered with the library, as long as they live. Where `window`
  /// is memory for one, as a window: then all ranks have such memory and call this, and a rank that cannot
  /// open its window loses the group for all.
  Tensor enrolled_zeros(const Shape& shape, TensorOptions options,
                        const std::shared_ptr<void>& window = nullptr);

  /// Looks for errors of the other ranks; false, from then on, when there are. `problem` says which.
  bool poll();
  /// Ends what runs and what will be started, here and, as they notice, on the other ranks.
  void give_up(const std::string& why);
  std::string problem() const;

 private:
  Tensor zeros_in_window(const Shape& shape, TensorOptions options, const std::shared_ptr<void>& window);
  Tensor zeros_enrolled_here(const Shape& shape, TensorOptions options);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ronde::inline v0
