#include <ronde/models/training_file.h>

#include <utility>
#include <vector>

#include <ronde/core/cuda.h>
#include <ronde/models/safetensors.h>

#include "weights/saved_optimizer.h"

namespace ronde::inline v0 {

namespace {

constexpr std::string_view kOptimizer = "optimizer:";
constexpr const char* kIterations = "optimizer:iterations";
constexpr const char* kLearningRate = "optimizer:learning_rate";
constexpr const char* kName = "optimizer";  // among the metadata

Safetensors to_file(const Module& net, const SavedOptimizer& state) {
  Safetensors file{named_weights(net), {{"format", "keras"}, {kName, state.name}}};
  for (const SavedSlot& slot : state.slots)
    for (const SavedWeight& weight : slot.weights)
      file.tensors.emplace(cat(kOptimizer, slot.name, ":", weight.name), on_host(weight.values));
  file.tensors.emplace(kIterations, Tensor::from<std::int64_t>({}, {state.iterations}));
  file.tensors.emplace(kLearningRate, Tensor::from<double>({}, {state.learning_rate}));
  return file;
}

Tensor take(NamedTensors& tensors, const char* name) {
  const auto found = tensors.find(name);
  require<InputError>(found != tensors.end() && found->second.count() == 1, "holds no training: there is no ",
                      name);
  const Tensor values = found->second;
  tensors.erase(found);
  return values;
}

/// Takes the state out of a file's arrays, which are the weights then.
SavedOptimizer take_state(Safetensors& file) {
  SavedOptimizer state{.name = file.metadata[kName],
                       .iterations = static_cast<std::int64_t>(take(file.tensors, kIterations).item()),
                       .learning_rate = take(file.tensors, kLearningRate).item(),
                       .slots = {}};
  for (auto it = file.tensors.lower_bound(std::string(kOptimizer));
       it != file.tensors.end() && it->first.starts_with(kOptimizer); it = file.tensors.erase(it)) {
    const std::string name = it->first.substr(kOptimizer.size());
    const std::size_t end = name.find(':');
    require<InputError>(end != std::string::npos, "has an array of no known kind, ", it->first);
    const std::string slot = name.substr(0, end);
    if (state.slots.empty() || state.slots.back().name != slot) state.slots.push_back({slot, {}});
    state.slots.back().weights.push_back({name.substr(end + 1), it->second});
  }
  return state;
}

/// Returns the optimizer's whole state.
std::vector<OptimizerSlot> restore(Safetensors file, Module& net, DistributedOptimizer& distributed) {
  Optimizer& optimizer = distributed.optimizer();
  const SavedOptimizer state = take_state(file);
  require<InputError>(state.name == optimizer.name(), "is of a training by ", state.name, ", not by ",
                      optimizer.name());
  std::vector<OptimizerSlot> slots = distributed.whole_slots();
  std::vector<WeightAssignment> assignments = match_optimizer(optimizer, slots, net, state);
  assign_named_weights(net, file.tensors);
  assign_all(assignments);
  optimizer.set_iterations(state.iterations);
  optimizer.set_learning_rate(state.learning_rate);
  optimizer.set_averaged(is_averaged(state));
  return slots;
}

}  // namespace

void save_training(const std::string& path, const Module& net, DistributedOptimizer& optimizer) {
  Communicator& communicator = optimizer.communicator();
  optimizer.synchronize();
  average_buffers(optimizer.optimizer().arena(), communicator);
  const std::vector<OptimizerSlot> slots = optimizer.gather_slots();
  collectively(communicator, [&] {
    if (communicator.rank() == 0)
      write_safetensors(path, to_file(net, save_optimizer(optimizer.optimizer(), slots, net)));
  });
}

void load_training(const std::string& path, Module& net, DistributedOptimizer& optimizer) {
  Communicator& communicator = optimizer.communicator();
  std::vector<OptimizerSlot> slots;
  collectively(communicator, [&] {
    if (communicator.rank() != 0) return;
    Safetensors file = read_safetensors(path);
    try {
      slots = restore(std::move(file), net, optimizer);
    } catch (const InputError& error) {
      throw InputError(cat(path, ": ", error.what()));
    }
  });
  broadcast_parameters(optimizer.optimizer().arena(), communicator);
  optimizer.broadcast_state(slots);
}

}  // namespace ronde::inline v0
