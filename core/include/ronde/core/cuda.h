/// GPUs: what is there, and the backends that compute on them.
///
///     if (cuda_facts().usable()) model_options.backend = &cuda_backend(0);
///
/// The GPU half of Ronde is a module, `libronde_cuda.so`, that is opened when somebody asks for the first
/// time: beside this library, where the loader looks, or where `$RONDE_CUDA_MODULE` says. One installation so
/// runs on machines with and without GPUs. A model lives on a GPU when its options name such a backend;
/// tensors without a backend stay on the CPU. Thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

class Backend;
class Tensor;
namespace cuda {
class InThread;
}

/// What a GPU needs, in the order in which it is looked for.
enum class CudaPart {
  module,   ///< Ronde's own GPU half
  library,  ///< CUDA's runtime, cuDNN, cuBLAS: what the module is linked with
  driver,   ///< NVIDIA's kernel driver and its libcuda
  device,   ///< a GPU that this process may use
  nothing,  ///< all of it is there
};

struct CudaDevice {
  std::string name;        ///< "NVIDIA H200"
  std::string capability;  ///< "9.0"
  int multiprocessors = 0;
  std::size_t memory = 0;  ///< bytes
  std::string id;          ///< of the hardware, the same for all processes of a machine
};

struct CudaFacts {
  CudaPart missing = CudaPart::module;
  std::string problem;   ///< what that is, in a sentence; empty when nothing is missing
  std::string module;    ///< the file that was opened; empty: none
  std::string versions;  ///< "CUDA 13.0, cuDNN 9.19.0, ..."; of the module's libraries
  std::string driver;    ///< "13.0": what the driver serves; empty: there is none
  std::vector<CudaDevice> devices;
  std::string no_collectives;  ///< why several ranks cannot use GPUs together (NCCL); empty: they can

  bool usable() const { return missing == CudaPart::nothing; }
};

/// "module", "library", ...
RONDE_API std::string to_string(CudaPart part);

/// Opens the module on the first call; no error when something is missing.
RONDE_API const CudaFacts& cuda_facts();

/// The backend of one GPU, made on the first call and kept. A UsageError that names what is missing, or why
/// this GPU cannot be used.
RONDE_API Backend& cuda_backend(int index = 0);

/// Why a GPU that is there cannot be used, as one that this build has no kernels for; empty: it can. Starts
/// the GPU, as `cuda_backend` does. A UsageError when no GPU is there.
RONDE_API std::string cuda_obstacle(int index = 0);

struct ChosenDevice {
  Backend* backend = nullptr;
  std::string why;  ///< of "auto" only, for a banner: "no GPU: the module libronde_cuda.so was not found"
};

/// What `--device` means: "auto" a GPU if one is usable, else the default backend; "cpu" the default backend;
/// "cuda" a GPU or a UsageError. Which GPU: `index`, a rank's number on its node, modulo their number.
RONDE_API ChosenDevice choose_device(const std::string& name, int index = 0);

/// What goes with the capture of a RepeatedStep, all of it outside: it may wait for the device. Each may be
/// empty.
struct AroundCapture {
  /// Notes what `undo` returns to.
  std::function<void()> before = {};
  /// Takes back what `counting` has counted in a capture that was given up: it is called again.
  std::function<void()> undo = {};
  /// Of ranks that work together in the body, which repeat a graph all or none: is given why this rank has no
  /// graph (empty: it has one), and returns why not all have one.
  std::function<std::string(const std::string& why)> agree = {};
};

/// Work on a GPU that is captured once and then repeated as one graph, with no more than that to do for the
/// host.
///
///     RepeatedStep step(backend);
///     step.run([&] { ... });   // runs twice, is captured and run, then is repeated
///
/// The body must give the device the same kernels on the same tensors each time; what varies has to lie in
/// tensors made before, but for the numbers of optimizer steps, which may change. Tensors that it leaves
/// behind hold the values of the latest run, and stay valid as long as this object. Where a body cannot be
/// captured, because it waits for the device or copies from the host, it runs each time, and `fallback` says
/// why. On the CPU, or with `$RONDE_CUDA_GRAPHS=off`, it always runs. Not thread safe; must not outlive the
/// backend.
class RONDE_API RepeatedStep {
 public:
  /// Whether a body may become a graph: not on the CPU, nor with `$RONDE_CUDA_GRAPHS=off`, which is read
  /// once, when the GPU is started.
  static bool may_capture(const Backend& backend);

  explicit RepeatedStep(Backend& backend);
  ~RepeatedStep();
  RepeatedStep(RepeatedStep&&) noexcept;

  /// Whether the body was called: if not, only the device has done its work again.
  ///
  /// `counting` is the rest of the body, what counts on the host as well as computes, as an optimizer's step
  /// or a metric: it is called each time, and when the graph repeats its kernels, the calls to the device
  /// that it makes are left out. It must not wait for the device. An error when a capture is given up after
  /// it was called and there is no `undo`.
  bool run(const std::function<void()>& body, const std::function<void()>& counting = {},
           const AroundCapture& around = {});
  bool is_captured() const;
  std::string fallback() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// While one lives, what this thread has a GPU update of weights, sums of losses and counts (optimizers'
/// steps, `accumulate`, `count_correct`) is updated only where `gate`, an f64 scalar there, is finite by the
/// time it runs: the host does not have to ask first. Not nested.
class RONDE_API GatedUpdates {
 public:
  explicit GatedUpdates(const Tensor& gate);
  ~GatedUpdates();
  GatedUpdates(const GatedUpdates&) = delete;
  GatedUpdates& operator=(const GatedUpdates&) = delete;

 private:
  std::unique_ptr<cuda::InThread> gate_;
};

/// Reads an f64 scalar of a GPU from time to time, and waits for what it was then, not for what the GPU was
/// given since. Not thread safe; must not outlive the backend.
class RONDE_API LateReader {
 public:
  static constexpr std::size_t kMost = 2;  ///< asked for and not taken

  explicit LateReader(Backend& backend);
  ~LateReader();
  LateReader(const LateReader&) = delete;
  LateReader& operator=(const LateReader&) = delete;

  /// Enqueues the reading of what `scalar` is by then.
  void ask(const Tensor& scalar);
  /// How many were asked for and not taken.
  std::size_t asked() const;
  /// Waits for the first of these.
  double take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// From here on a GPU's convolutions are the same in each process, and perhaps slower: as with
/// `$RONDE_CUDA_ENGINES=deterministic`. Of other backends they are anyway.
RONDE_API void use_deterministic_engines(Backend& backend);
/// From here on they give the same bits each time in this process, also where `$RONDE_CUDA_ENGINES=fastest`
/// allowed others.
RONDE_API void use_repeatable_engines(Backend& backend);

/// What a GPU computes by a slower way than one might think, and why: a line for each operation and reason,
/// each told once in a process. By float32 copies although it was given bfloat16 ("by design" where nothing
/// else is meant; or a library has refused it), or by a kernel of Ronde's that is slow, as cuDNN has none.
/// Empty for other backends.
RONDE_API std::vector<std::string> take_detours(Backend& backend);

/// The tensor itself when it lies in host memory, else a copy there (dense, on the default backend): for what
/// reads bytes.
RONDE_API Tensor on_host(const Tensor& tensor);

}  // namespace ronde::inline v0
