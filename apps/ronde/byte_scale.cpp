#include "ronde/byte_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <ronde/nn/graph.h>
#include <ronde/nn/normalization.h>
#include <ronde/nn/rescaling.h>
#include <ronde/nn/sequential.h>

namespace ronde::apps {
namespace {

/// The geometric mean of 1/255 and 1: what is less brings 255 nearer to 1 than it would bring 1.
constexpr double kScaleOfBytes = 0.0626;

bool are_of_bytes(const std::vector<double>& scales) {
  return std::all_of(scales.begin(), scales.end(),
                     [](double scale) { return scale != 0.0 && std::abs(scale) < kScaleOfBytes; });
}

bool is_of_bytes(const Normalization& layer) {
  std::vector<double> scales = layer.deviation().value().to_vector<double>();
  for (double& scale : scales) scale = layer.options().invert ? scale : 1.0 / scale;
  return are_of_bytes(scales);
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
  if (const auto* rescaling = dynamic_cast<const Rescaling*>(&net))
    return are_of_bytes(rescaling->options().scale);
  if (const auto* normalization = dynamic_cast<const Normalization*>(&net))
    return is_of_bytes(*normalization);
  const std::vector<const Module*> layers = first_layers(net);
  return !layers.empty() &&
         std::all_of(layers.begin(), layers.end(), [](const Module* layer) { return scales_bytes(*layer); });
}

double byte_scale_for(const Module& net) {
  return scales_bytes(net) ? 1.0 : kByteScale;
}

void note_bytes_stay(const std::string& file) {
  std::fprintf(
      stderr,
      "ronde: note: %s: the net begins with a Rescaling or Normalization of bytes, so it gets them as they "
      "are\n",
      file.c_str());
}

}  // namespace ronde::apps
