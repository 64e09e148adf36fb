#include <cmath>

#include <ronde/core/counted.h>

#include "common/banner.h"
#include "common/text_table.h"
#include "report/html_text.h"
#include "ronde/bench_facts.h"

namespace ronde::apps {
namespace {

std::string size_text(double bytes) {
  if (bytes < 1e3) return cat(fixed(bytes, 0), " B");
  return bytes < 1e6 ? cat(fixed(bytes / 1e3, 0), " KB") : cat(fixed(bytes / 1e6, 1), " MB");
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? cat(brief(seconds * 1e6, 3), " us") : cat(brief(seconds * 1e3, 3), " ms");
}

std::string share(double part, double whole) {
  return whole > 0.0 ? cat(fixed(100.0 * part / whole, 1), " %") : "-";
}

std::string rate(double images_per_second) {
  return grouped(std::llround(images_per_second));
}

std::string curve_text(const BenchResult& result) {
  std::vector<std::vector<std::string>> rows{{"all-reduce", "time", "GB/s", "of the memory's speed"}};
  for (const TimedMessage& message : result.curve)
    rows.push_back({size_text(message.bytes), time_text(message.seconds),
                    brief(message.bytes / message.seconds * 1e-9, 3),
                    share(allreduce_memory_speed(result, message), result.memory_bandwidth)});
  return cat('\n', text_table(rows), "  about ", time_text(result.fit->latency), " + ",
             time_text(result.fit->seconds_per_byte * 1e6), " for each MB\n");
}

std::string training_text(const BenchResult& result) {
  const bool is_job = result.ranks > 1;
  std::vector<std::vector<std::string>> rows{
      {"training", "batch", is_job ? "each alone" : "images/s", "of the peak"}};
  if (is_job) rows[0].insert(rows[0].end(), {"together", "efficiency", "expected"});
  for (const TrainingSpeed& speed : result.training) {
    rows.push_back({speed.net, std::to_string(speed.batch), rate(speed.alone),
                    share(speed.alone * speed.flop_per_image * 1e-9, result.fma_peak)});
    if (is_job)
      rows.back().insert(rows.back().end(), {rate(speed.together), share(speed.together, speed.alone),
                                             share(speed.expected_efficiency, 1.0)});
  }
  return cat('\n', text_table(rows));
}

std::string remarks(const BenchResult& result) {
  std::string text =
      "\n\"Of the peak\" counts the multiplications that a convolution is defined by. Winograd's way to "
      "compute "
      "one makes\nfewer of them, so that it may be above 100 %; RONDE_CONV=direct makes all.\n";
  if (result.ranks > 1) {
    text +=
        "\nImages per second of all ranks: each rank for itself, all at the same time, and all together. "
        "\"Expected\"\n"
        "is what the all-reduce above leaves when it hides behind the backward pass and takes no core from "
        "it.\n";
  } else {
    text +=
        "\nOne rank has nobody to talk to: `mpirun -np 2 ronde bench` measures the all-reduce and scaling "
        "too.\n";
  }
  for (const std::string& warning : result.warnings) text += cat("\nwarning: ", warning, "\n");
  return text;
}

}  // namespace

std::string bench_text(const BenchResult& result) {
  const std::string place = cat(counted(result.ranks, "rank"), " on ", counted(result.nodes, "node"), ", ",
                                counted(result.threads, "thread"), " each");
  const std::string peak = cat(brief(result.fma_peak, 3), " GF/s, all ranks at once");
  const std::string memory = cat(brief(result.memory_bandwidth, 3), " GB/s of a node, read and written");
  std::string text = banner(cat("ronde bench: ", place), {{"transport", result.transport},
                                                          {"kernels", result.kernels},
                                                          {"multiply-add peak", peak},
                                                          {"memory", memory}});
  if (result.fit) text += curve_text(result);
  return text + training_text(result) + remarks(result);
}

}  // namespace ronde::apps
