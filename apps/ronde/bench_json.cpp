#include <nlohmann/json.hpp>

#include "ronde/bench_facts.h"

namespace ronde::apps {
namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const BenchResult& result) {
  Json list = Json::array();
  for (const TimedMessage& message : result.curve)
    list.push_back({{"bytes", message.bytes},
                    {"seconds", message.seconds},
                    {"gb_per_second", message.bytes / message.seconds * 1e-9},
                    {"memory_gb_per_second", allreduce_memory_speed(result, message)}});
  return list;
}

Json training_json(const BenchResult& result) {
  Json list = Json::array();
  for (const TrainingSpeed& speed : result.training) {
    Json entry{{"net", speed.net},
               {"batch", speed.batch},
               {"gradient_bytes", speed.gradient_bytes},
               {"images_per_second_alone", speed.alone},
               {"share_of_peak", speed.alone * speed.flop_per_image * 1e-9 / result.fma_peak}};
    if (result.ranks > 1) {
      entry["images_per_second"] = speed.together;
      entry["efficiency"] = speed.together / speed.alone;
      entry["expected_efficiency"] = speed.expected_efficiency;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string bench_json(const BenchResult& result) {
  Json json{{"version", RONDE_VERSION},
            {"ranks", result.ranks},
            {"nodes", result.nodes},
            {"threads", result.threads},
            {"transport", result.transport},
            {"kernels", result.kernels},
            {"fma_peak_gflops", result.fma_peak},
            {"memory_gb_per_second", result.memory_bandwidth},
            {"allreduce", curve_json(result)},
            {"training", training_json(result)},
            {"warnings", result.warnings}};
  if (result.fit)
    json["allreduce_fit"] = {{"latency_seconds", result.fit->latency},
                             {"seconds_per_byte", result.fit->seconds_per_byte}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::apps
