#include "options.h"

#include <cstdlib>
#include <string_view>

#include <ronde/core/error.h>

namespace bench {

const char* const kUsage =
    "usage: ronde_bench [--net mnist|cifar10|resnet20] [--batch N] [--threads N] [--seconds S] [--steps N] "
    "[--layers] [--evaluate] [--json]\n"
    "Images per second of a training step, its rate in direct-convolution GF/s, and this machine's FMA "
    "peak.\n"
    "--evaluate: forward passes instead. --layers: a table of the net's kernels instead. --steps: so many "
    "steps and nothing\n"
    "that depends on time, for tools that count. Under mpirun the ranks train together. RONDE_BACKEND and "
    "RONDE_ISA choose\n"
    "what is measured.\n";

Options parse_options(int argc, char** argv) {
  using ronde::require;
  using ronde::UsageError;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    bool* const flag = name == "--layers"     ? &options.layers
                       : name == "--json"     ? &options.json
                       : name == "--evaluate" ? &options.evaluate
                                              : nullptr;
    if (flag) {
      *flag = true;
      continue;
    }
    const bool known = name == "--net" || name == "--batch" || name == "--threads" || name == "--seconds" ||
                       name == "--steps";
    require<UsageError>(known && i + 1 < argc, known ? "a value is missing after " : "unknown option ", name);
    const char* value = argv[++i];
    if (name == "--net") options.net = value;
    if (name == "--batch") options.batch = std::atoll(value);
    if (name == "--threads") options.threads = std::atoi(value);
    if (name == "--seconds") options.seconds = std::atof(value);
    if (name == "--steps") options.steps = std::atoi(value);
  }
  require<UsageError>(options.net == "mnist" || options.net == "cifar10" || options.net == "resnet20",
                      "--net ", options.net);
  require<UsageError>(!options.layers || options.net != "resnet20", "--layers knows no resnet20");
  require<UsageError>(options.batch > 0 && options.seconds > 0 && options.threads >= 0 && options.steps >= 0,
                      "--batch, --seconds and --steps must be positive");
  return options;
}

}  // namespace bench
