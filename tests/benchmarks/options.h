#pragma once

#include <cstdint>
#include <string>

namespace bench {

struct Options {
  std::string net = "mnist";  ///< or another one that make_net knows
  std::int64_t batch = 128;   ///< of each rank
  int threads = 0;            ///< 0: this rank's share of the machine
  double seconds = 3;
  int steps = 0;          ///< exactly so many, untimed; 0: as many as take `seconds`
  bool layers = false;    ///< a table of the step's kernels
  bool evaluate = false;  ///< forward passes instead of training steps
  bool json = false;
};

/// A UsageError for anything it does not know.
Options parse_options(int argc, char** argv);
extern const char* const kUsage;

}  // namespace bench
