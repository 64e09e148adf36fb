/// A backend that lets another one compute and notes how long each kernel took.
///
///     KernelTimes times;
///     const auto backend = make_timed_backend(default_backend(), times);
///     net.build(shape, {.backend = backend.get()});   // and inputs that lie on it
///     for (...) { step(); times.end_step(); }
///
/// For one thread, and for kernels that have run when they return: a CPU's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/backend.h>

namespace bench {

/// All calls of a kernel for tensors of the same shapes.
struct KernelRow {
  std::string name;                  ///< "dense (128, 10) <- (128, 512) (512, 10) (10,)": outputs <- inputs
  int calls = 0;                     ///< of a step, as are the next two
  double flop = 0;                   ///< convolutions counted directly; 0 where `bytes` are what counts
  double bytes = 0;                  ///< of the tensors that are read or written
  std::vector<double> seconds = {};  ///< of each step
};

/// What one call does.
struct KernelWork {
  double flop = 0;
  double bytes = 0;
};

class KernelTimes {
 public:
  /// In the order of the first calls.
  const std::vector<KernelRow>& rows() const { return rows_; }
  void add(const std::string& name, KernelWork work, double seconds);
  /// The calls since the last one were a step.
  void end_step() { ++steps_; }
  /// Forgets all steps: the first one, for example.
  void clear();

 private:
  std::vector<KernelRow> rows_;
  std::map<std::string, std::size_t> row_of_;
  std::size_t steps_ = 0;
};

/// Both arguments must outlive what is returned, and that all of its tensors.
std::unique_ptr<ronde::Backend> make_timed_backend(ronde::Backend& inner, KernelTimes& times);

}  // namespace bench
