#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ronde/core/dtype.h>

namespace bench {

struct Options {
  std::string net = "mnist";  ///< or another one that make_net knows
  std::int64_t batch = 128;   ///< of each rank
  int threads = 0;            ///< 0: this rank's share of the machine
  double seconds = 3;
  int steps = 0;                ///< exactly so many, untimed; 0: as many as take `seconds`
  bool mixed_bfloat16 = false;  ///< layers compute in bf16, with weights in f32
  bool layers = false;          ///< a table of the step's kernels
  bool evaluate = false;        ///< forward passes instead of training steps
  bool json = false;

  std::optional<ronde::DType> compute_dtype() const {
    return mixed_bfloat16 ? std::optional(ronde::DType::bf16) : std::nullopt;
  }
};

/// A UsageError for anything it does not know.
Options parse_options(int argc, char** argv);
extern const char* const kUsage;

}  // namespace bench
