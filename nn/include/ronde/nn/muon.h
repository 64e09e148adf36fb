/// Muon: momentum whose update is made orthogonal, for matrices and for the kernels of convolutions.
///
///     m = momentum * m + g;  u = g + momentum * m  (nesterov; else u = m)
///     X = u / |u|, as a matrix;  ns_steps times: A = X X';  X = muon_a X + (muon_b A + muon_c A A) X
///     w -= rate * X
///
/// The steps of Newton-Schulz bring all singular values of X near 1. The matrix of a convolution's kernel is
/// (filters, kh * kw * c), that of a dense layer (in, units). Biases, and what else is no matrix, need
/// another optimizer: see optimizer_groups.h.
///
///     OptimizerGroups optimizer(optimizer_group("conv2d*/kernel", Muon({.learning_rate = 0.24})),
///                               optimizer_group("*", SGD({.learning_rate = 0.1})));
///
/// Names are Keras' (3.10 and later), which has one optimizer with an Adam inside, takes only the last two
/// axes of a kernel for a matrix, and multiplies the update by rms_rate * sqrt(max(rows, columns)): see
/// `rms_rate`. Files for Keras leave this optimizer out. Source: Jordan et al., "Muon: an optimizer for
/// hidden layers in neural networks", 2024.
///
/// Ranks that share out the optimizer's state (StateLayout::sharded) must not cut a weight into pieces.
#pragma once

#include <ronde/nn/optimizer.h>

namespace ronde::inline v0 {

struct MuonOptions {
  double learning_rate = 0.001;
  double momentum = 0.95;
  bool nesterov = true;
  int ns_steps = 6;
  double muon_a = 3.4445, muon_b = -4.775, muon_c = 2.0315;
  /// 0: the update as it is; Keras' default is 0.2.
  double rms_rate = 0.0;
  /// Before each update a weight is scaled so that its norm is sqrt(rows): a filter's is 1 on average. For
  /// kernels that a batch normalisation follows, to which their scale is nothing.
  bool normalize_weights = false;
  double decay = 0.0;  ///< of the rate: learning_rate / (1 + decay * completed updates)
  ClipOptions clip = {};
};

class RONDE_API Muon : public Optimizer {
 public:
  explicit Muon(MuonOptions options = {});
  std::string name() const override { return "Muon"; }
  ConfigDict config() const override { return {}; }
  ConfigDict own_settings() const override;
  void attach(ParameterArena& arena) override;

 protected:
  void update(const Slice& slice, const StepParams& step) override;
  std::vector<OptimizerSlot> own_slots() const override;

 private:
  /// Flat room that all weights use in turn, for the largest of them.
  struct Workspace {
    Tensor update, next;      // elements of a weight
    Tensor gram, polynomial;  // (shorter side)^2
    Tensor squares, factor;   // scalars: f64, and the weights' dtype
  };
  void update_weight(const Slice& weight, const StepParams& step);
  void orthogonalize(Tensor& x, Tensor& next) const;
  void scale_to_norm(const Tensor& x, double norm) const;

  MuonOptions options_;
  Tensor momentum_;
  Workspace room_;
};

}  // namespace ronde::inline v0
