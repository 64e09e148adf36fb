/// CapturedStep: work on a device that is given once and repeated as one graph.
///
///     CapturedStep step(backend);
///     for (...) {
///       input.copy_from(batch);                     // what varies lies in tensors made before
///       step.run([&] { backend.matmul(...); });     // runs twice, is captured and run, then is repeated
///     }
///
/// The body must do the same each time: kernels on the same tensors. Values that change belong in device
/// memory; the numbers of optimizer steps (rates, corrections) are brought there. What it allocates lies in
/// memory of its own, so that addresses stay; tensors that it leaves behind hold the values of the latest
/// run. When the body waits for the device, copies from the host or needs memory anew while it is captured,
/// it stays as it is, run each time, and `fallback` says why.
///
/// Note [Steps as graphs]: what the host still does of a training step that is repeated (CapturedPass in the
/// room of models says which are). It copies the batch to the tensors made before, or keys and labels where
/// the device has the inputs (ResidentInputs in the room of data), and the optimizer's numbers when they
/// change; then it replays. All else is in the graph: forward, backward, gradients of weights beside those of
/// inputs (side_stream.h), the ranks' sums on a stream of their own (DeviceGroup), loss and metrics, and the
/// update, behind a gate (`Call::gate`) where the device decides whether gradients are finite. Of that the
/// host hears once a step, or one step later (LateReader).
///
/// What a body counts on the host is the business of its second half, that follows the first and is called
/// for repetitions too, with all its calls to the device left out. When a capture is given up, it has been
/// called for nothing: `AroundCapture::undo` takes that back. Not thread safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ronde/core/cuda.h>

#include "cuda/cuda_backend.h"
#include "cuda/numbers_on_device.h"

namespace ronde::inline v0::cuda {

class CapturedStep {
 public:
  using Body = std::function<void()>;

  explicit CapturedStep(CudaBackend& backend)
      : backend_(backend),
        numbers_(std::make_unique<NumbersOnDevice>(backend)),
        side_(backend.side_streams().take()) {}
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Whether the body was called.
  bool run(const Body& body, const Body& counting = {}, const AroundCapture& around = {});

  bool is_captured() const { return graph_ != nullptr; }
  /// Empty while nothing stood in the way.
  const std::string& fallback() const { return fallback_; }
  /// Times that the numbers of an optimizer step went to the device.
  std::size_t numbers_sent() const { return numbers_->sent(); }

 private:
  /// The second one frees what the first one left behind: then there is memory for all that comes.
  static constexpr int kRehearsals = 2;

  using Calls = CudaBackend::Repetition::Calls;
  void run_as(Calls calls, const Body& body);
  void capture(const Body& body, const Body& counting, const AroundCapture& around);
  /// Why there is no graph now; empty: there is one. Whether the second half has been called.
  std::string record(const Body& body, const Body& counting, bool& is_counted);
  void make_copies_true();
  void drop_graph();

  CudaBackend& backend_;
  DeviceAllocator::Pool pool_;
  std::unique_ptr<NumbersOnDevice> numbers_;
  std::unique_ptr<SideStream> side_;
  Graph graph_ = nullptr;
  RoundedCopies::OfGraph copies_;
  int rehearsals_ = 0;
  std::string fallback_;
};

}  // namespace ronde::inline v0::cuda
