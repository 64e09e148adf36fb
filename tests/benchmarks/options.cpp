#include "options.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <ronde/core/error.h>

namespace bench {

const char* const kUsage =
    "usage: ronde_bench [--net mnist|cifar10|resnet20|resnet18|lstm|gru|FILE.keras] [--batch N] [--threads "
    "N] "
    "[--seconds S] "
    "[--steps N] [--layers] [--evaluate] [--mixed-bfloat16] [--json]\n"
    "Images per second of a training step, its rate in direct-convolution GF/s, and this machine's FMA "
    "peak.\n"
    "--evaluate: forward passes instead. --mixed-bfloat16: layers compute in bf16. --layers: what each "
    "kernel of a step takes, by one process. "
    "--steps: "
    "so many steps\n"
    "and nothing that depends on time, for tools that count. Under mpirun the ranks train together. "
    "RONDE_BACKEND and RONDE_ISA\n"
    "choose what is measured.\n";

namespace {

bool is_net(const std::string& name) {
  if (name.find('.') != std::string::npos) return true;
  constexpr std::string_view kNets[] = {"mnist", "cifar10", "resnet20", "resnet18", "lstm", "gru"};
  return std::find(std::begin(kNets), std::end(kNets), name) != std::end(kNets);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  using ronde::require;
  using ronde::UsageError;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    bool* const flag = name == "--layers"           ? &options.layers
                       : name == "--json"           ? &options.json
                       : name == "--evaluate"       ? &options.evaluate
                       : name == "--mixed-bfloat16" ? &options.mixed_bfloat16
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
  require<UsageError>(is_net(options.net), "--net ", options.net);
  require<UsageError>(options.batch > 0 && options.seconds > 0 && options.threads >= 0 && options.steps >= 0,
                      "--batch, --seconds and --steps must be positive");
  return options;
}

}  // namespace bench
