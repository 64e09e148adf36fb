#include "common/exchange_options.h"

#include <charconv>

#include <ronde/core/text.h>

namespace ronde::apps {
namespace {

template <class T>
bool parse(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Part `index`, if it is there.
template <class T>
bool parse_part(const std::vector<std::string>& parts, std::size_t index, T& number) {
  return index >= parts.size() || parse(parts[index], number);
}

// The library's own rule for numbers, without the part that names its caller.
std::string problem_of(const DistributedOptions& options) {
  try {
    check(options);
  } catch (const UsageError& error) {
    const std::string text = error.what();
    const std::size_t begin = text.find("] ");
    return begin == std::string::npos ? text : text.substr(begin + 2);
  }
  return "";
}

}  // namespace

Setter compression_choice(Compression& target) {
  return [&target](const std::string& value) -> std::string {
    const std::string wrong = "give one of none, bf16, fp16, top-k[:RATIO], power-sgd[:RANK[:START_STEP]]";
    const std::vector<std::string> parts = split(value, ':');
    const std::string& name = parts[0];
    Compression chosen = compression::None{};
    std::size_t most = 1;
    bool is_number = true;
    if (name == "top-k") {
      compression::TopK top_k;
      is_number = parse_part(parts, 1, top_k.ratio);
      most = 2;
      chosen = top_k;
    } else if (name == "power-sgd") {
      compression::PowerSgd power_sgd;
      is_number = parse_part(parts, 1, power_sgd.rank) && parse_part(parts, 2, power_sgd.start_step);
      most = 3;
      chosen = power_sgd;
    } else if (name == "bf16") {
      chosen = compression::Bf16{};
    } else if (name == "fp16") {
      chosen = compression::Fp16{};
    } else if (name != "none") {
      return wrong;
    }
    if (!is_number || parts.size() > most) return wrong;
    const std::string problem = problem_of({.compression = chosen});
    if (problem.empty()) target = chosen;
    return problem;
  };
}

Setter local_steps_choice(LocalSteps& target) {
  return [&target](const std::string& value) -> std::string {
    const std::vector<std::string> parts = split(value, ':');
    LocalSteps chosen;
    if (parts.size() > 2 || !parse(parts[0], chosen.period) || !parse_part(parts, 1, chosen.start_step))
      return "give a number of steps, or PERIOD:START_STEP";
    const std::string problem = problem_of({.local_steps = chosen});
    if (problem.empty()) target = chosen;
    return problem;
  };
}

void declare_exchange_options(CommandLine& line, DistributedOptions& options) {
  line.group("Between ranks");
  line.option("compression", "HOW",
              "of gradients: none|bf16|fp16|top-k[:RATIO]|\n"
              "power-sgd[:RANK[:START_STEP]] (default none)",
              compression_choice(options.compression));
  line.option("combine", "HOW", "of the ranks' gradients: average|adasum (default average)",
              [&options](const std::string& value) -> std::string {
                if (value != "average" && value != "adasum") return "give one of average, adasum";
                options.combine = value == "adasum" ? Combine::adasum : Combine::average;
                return "";
              });
  line.option("local-steps", "K",
              "ranks update alone, and average weights every K steps\n"
              "(K:START_STEP: from that step on)",
              local_steps_choice(options.local_steps));
  line.option("optimizer-state", "WHERE", "replicated|sharded: a part on each rank (default replicated)",
              [&options](const std::string& value) -> std::string {
                if (value != "replicated" && value != "sharded") return "give one of replicated, sharded";
                options.state = value == "sharded" ? StateLayout::sharded : StateLayout::replicated;
                return "";
              });
  line.option("bucket-mb", "N", "MiB of gradients that travel together (default 25; the first: 1)",
              [&options](const std::string& value) -> std::string {
                std::int64_t megabytes = 0;
                if (!parse(value, megabytes) || megabytes < 1 || megabytes > 1 << 20)
                  return "give a whole number from 1 to 1048576";
                options.buckets.bucket_bytes = megabytes << 20;
                return "";
              });
}

}  // namespace ronde::apps
