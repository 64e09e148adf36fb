/// One training step of a reference net on resident data: forward, loss, backward, optimizer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/distributed/distributed_optimizer.h>
#include <ronde/models/model.h>
#include <ronde/nn/loss.h>
#include <ronde/nn/module.h>
#include <ronde/nn/optimizer.h>

namespace bench {

/// A net and its arithmetic.
struct Net {
  std::unique_ptr<ronde::Module> layers;  ///< not built; null for one from a file
  std::unique_ptr<ronde::Optimizer> optimizer;
  ronde::Shape input;
  double mflop_per_image;          ///< of a training step, convolutions counted directly; 0: not known
  double forward_mflop_per_image;  ///< of the forward pass alone
  bool ends_in_softmax = false;
  std::unique_ptr<ronde::Model> from_file = {};
};

/// "mnist": conv32 conv64 pool drop dense128 drop dense10, Adam. "cifar10": conv32 (same) conv32 pool drop
/// conv64 (same) conv64 pool drop dense512 drop dense10, RMSprop. "resnet20": models/cifar_resnet.h, SGD.
/// "resnet18": models/resnet.h with the stem for CIFAR, SGD. A path, which has a '.': the classifier in this
/// file of Keras, which ends in a softmax, SGD.
Net make_net(const std::string& name, ronde::Backend& backend, std::optional<ronde::DType> compute_dtype);
inline bool is_file(const std::string& net) {
  return net.find('.') != std::string::npos;
}

class TrainingStep {
 public:
  /// With `ranks`, gradients are summed over them, as in a training; `batch` is each rank's.
  TrainingStep(const std::string& net, std::int64_t batch, ronde::Communicator* ranks = nullptr,
               const ronde::DistributedOptions& options = {},
               ronde::Backend& backend = ronde::default_backend(),
               std::optional<ronde::DType> compute_dtype = {});
  void run();
  /// The forward pass alone, as when a net is evaluated.
  void evaluate();
  const Net& net() const { return net_; }
  const ronde::ParameterArena& arena() const { return *arena_; }
  double last_loss() const { return loss_.item(); }

 private:
  Net net_;
  std::unique_ptr<ronde::DistributedOptimizer> distributed_;  // holds the net's optimizer then
  std::unique_ptr<ronde::ParameterArena> own_arena_;
  ronde::Module* layers_;
  ronde::ParameterArena* arena_;
  ronde::SparseCategoricalCrossentropy crossentropy_;
  ronde::Tensor x_, labels_, keys_, loss_;
};

}  // namespace bench
