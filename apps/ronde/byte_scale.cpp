#include "ronde/byte_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <ronde/nn/graph.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/sequential.h>

namespace ronde::apps {
namespace {

/// The geometric mean of 1/255 and 1: what is less brings 255 nearer to 1 than it would bring 1.
constexpr double kScaleOfBytes = 0.0626;

bool is_of_bytes(const Rescaling& layer) {
  const ConfigDict config = layer.config();
  const auto scale =
      std::find_if(config.begin(), config.end(), [](const auto& entry) { return entry.first == "scale"; });
  const ConfigList scales =
      scale->second.is_list() ? scale->second.as_list() : ConfigList{scale->second.as_double()};
  return std::all_of(scales.begin(), scales.end(), [](const ConfigValue& value) {
    return value.as_double() != 0.0 && std::abs(value.as_double()) < kScaleOfBytes;
  });
}

/// The layers that get the net's input.
std::vector<const Module*> first_layers(const Graph& net) {
  std::vector<const Module*> layers;
  for (const GraphNode& node : net.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), 0) != node.inputs.end())
      layers.push_back(node.layer);
  return layers;
}

std::vector<const Module*> first_layers(const Module& net) {
  if (const auto* graph = dynamic_cast<const Graph*>(&net)) return first_layers(*graph);
  const auto* sequence = dynamic_cast<const Sequential*>(&net);
  if (sequence == nullptr || sequence->layers().empty()) return {};
  return {sequence->layers().front()};
}

}  // namespace

bool scales_bytes(const Module& net) {
  if (const auto* rescaling = dynamic_cast<const Rescaling*>(&net)) return is_of_bytes(*rescaling);
  const std::vector<const Module*> layers = first_layers(net);
  return !layers.empty() &&
         std::all_of(layers.begin(), layers.end(), [](const Module* layer) { return scales_bytes(*layer); });
}

double byte_scale_for(const Module& net) {
  return scales_bytes(net) ? 1.0 : kByteScale;
}

void note_bytes_stay(const std::string& file) {
  std::fprintf(stderr,
               "ronde: note: %s: the net begins with a Rescaling of bytes, so it gets them as they are\n",
               file.c_str());
}

}  // namespace ronde::apps
