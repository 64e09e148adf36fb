/// Runtime: one device behind a thin interface without CUDA's headers. Memory, streams, events, asynchronous
/// copies, kernels, graphs.
///
/// `CudaBackend` is all logic above it. Two things implement it, each in a module (module.h): the real one
/// over CUDA, cuDNN and cuBLASLt, and the tests' fake, which runs the real one's own kernels on the CPU, late
/// and in a random legal order.
///
/// Nothing throws: each function says by a Status how it went. What happens on the device later is told by
/// `query`; a failure there is final, and everything after it fails with the same text. An index or a label
/// out of range is none: the kernel leaves it out, and `complaint` tells. Streams run beside each other; only
/// events order them. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/call.h"
#include "cuda/collectives.h"
#include "cuda/status_code.h"

namespace ronde::inline v0::cuda {

enum class CopyKind : std::uint8_t { to_device, to_host, on_device };

struct DeviceFacts {
  char name[96] = "";
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::size_t memory = 0;  ///< bytes
  char id[64] = "";        ///< of the hardware, the same for all processes of a machine
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual const DeviceFacts& facts() const = 0;
  /// nullptr: this module or machine has none (ModuleFacts says why).
  virtual Collectives* collectives() = 0;
  /// From here on everything fails with this text, as if the device were lost. From any thread.
  virtual void give_up(const char* why) = 0;

  /// Aligned to 256 bytes. Neither inside a capture.
  virtual Status allocate(std::size_t bytes, void** memory) = 0;
  virtual Status release(void* memory) = 0;
  /// Host memory that the device copies from and to.
  virtual Status allocate_pinned(std::size_t bytes, void** memory) = 0;
  virtual Status release_pinned(void* memory) = 0;
  /// From this point of the stream on nobody needs the content. The fake overwrites it; the real one does
  /// nothing.
  virtual Status discard(void* memory, std::size_t bytes, Stream stream) = 0;

  virtual Status create_stream(Stream* stream) = 0;
  virtual Status destroy_stream(Stream stream) = 0;
  virtual Status create_event(Event* event) = 0;
  virtual Status destroy_event(Event event) = 0;
  /// The event stands for all that the stream was given so far.
  virtual Status record(Event event, Stream stream) = 0;
  /// What the stream is given from now on runs after what the event stands for.
  virtual Status wait(Stream stream, Event event) = 0;
  /// Whether what the event stands for has run. Not inside a capture.
  virtual Status query(Event event) = 0;
  /// Which kernel was given an index or a label out of range, of all that has run; tells it once.
  virtual Status complaint() = 0;

  /// On the host only memory from `allocate_pinned`, which must stay as it is until the copy has run.
  virtual Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) = 0;

  /// What a library decides once for all calls that look like this one (see plan_key.h), and the bytes of
  /// scratch memory that it needs. A text says why it will be slow. May run candidates on the call's own
  /// operands, so the call must follow. `unsupported`: the library has nothing for it. `better_in_float`: it
  /// is not planned either.
  virtual Status prepare(const Call& call, const MathOptions& math, Plan* plan, std::size_t* workspace) = 0;
  virtual Status forget(Plan plan) = 0;
  /// `plan` is nullptr for calls that `needs_plan` says no to. Only calls that `takes_bfloat16`
  /// (takes_bfloat16.h).
  virtual Status launch(const Call& call, Plan plan, void* workspace, Stream stream) = 0;

  /// From here on the stream, and those that wait for an event of it, note down what they are given instead
  /// of running it. Until the end: no allocation, no query, nothing that the host waits for.
  virtual Status begin_capture(Stream stream) = 0;
  /// Refused when something broke a rule or a stream did not come back; then there is no graph.
  virtual Status end_capture(Stream stream, Graph* graph) = 0;
  virtual Status replay(Graph graph, Stream stream) = 0;
  virtual Status destroy_graph(Graph graph) = 0;
};

}  // namespace ronde::inline v0::cuda
