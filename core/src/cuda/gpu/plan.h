/// What a library decided about one pattern of calls. Used inside the module only.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "cuda/gpu/kernels.h"

namespace ronde::inline v0::cuda {

/// How the module tells itself of errors; becomes a Status where the module ends.
struct GpuError : std::runtime_error {
  explicit GpuError(const std::string& text, Outcome how = Outcome::unsupported)
      : std::runtime_error(text), outcome(how) {}

  Outcome outcome;
};

struct PlanTag {
  virtual ~PlanTag() = default;
  /// Why it is slow; empty: it is not.
  virtual const char* remark() const { return ""; }
  /// Bytes that `run` needs.
  virtual std::size_t workspace() const = 0;
  /// Throws GpuError.
  virtual void run(const Call& call, void* workspace, const Place& place) = 0;
};

}  // namespace ronde::inline v0::cuda
