/// The weights of a net as named arrays, for files that hold nothing else (safetensors, npz).
///
///     NamedTensors weights = named_weights(model.module(), WeightNames::torch);
///     weights.at("conv2d.weight");  // (filters, c, kh, kw)
///
/// Two flavours of names and layouts:
///
///  * keras: `conv2d/kernel` (kh, kw, in, out), `conv2d/bias`;
///    `depthwise_conv2d/depthwise_kernel` (kh, kw, c, multiplier); `conv2d_transpose/kernel` (kh, kw, out,
///    in); `dense/kernel` (in, out); batch normalisation: `gamma`, `beta`, `moving_mean`, `moving_variance`
///  * torch: `conv2d.weight` (out, in, kh, kw), `conv2d.bias`;
///    `depthwise_conv2d.weight` (c * multiplier, 1, kh, kw); `conv2d_transpose.weight` (in, out, kh, kw);
///    `dense.weight` (out, in); a separable convolution is a module of two:
///    `separable_conv2d.depthwise.weight`, `separable_conv2d.pointwise.weight`,
///    `separable_conv2d.pointwise.bias`; batch normalisation: `weight`, `bias`, `running_mean`, `running_var`;
///    of other normalisations `weight` and `bias`; `p_re_lu.weight` (c), where there is one for each channel;
///    an attention's parts as Keras has them, `attention.query.weight` (d, heads, key_dim), and no
///    `in_proj_weight`;
///    a net with a recurrent layer is an error: PyTorch has two biases there, and other gates
///
/// Note [Flattened images]: Keras and Ronde flatten an image as h, w, c, a net of PyTorch as c, h, w. In the
/// flavour `torch` the rows of what follows a Flatten (batch normalisation, then the first dense layer) are
/// put into PyTorch's order, so that the same net written in PyTorch gives the same answers; so are those in
/// a TimeDistributed, whose steps are (n, steps, c, h, w) there. The order of layers must be known for that:
/// a module with a forward() of its own is taken as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

enum class WeightNames { keras, torch };

using NamedTensors = std::map<std::string, Tensor>;

/// Copies of all weights of a built net, moving statistics included, in host memory. Of a part of a larger
/// net they have the names that they have in that part alone: those of `net.encoder` fit another encoder.
RONDE_API NamedTensors named_weights(const Module& net, WeightNames names = WeightNames::keras);

/// Sets all weights of a built net from arrays of either flavour, told apart by their names. Everything is
/// compared before anything is assigned: an InputError names the weight that is missing, unknown or of
/// another shape. `num_batches_tracked` of PyTorch is ignored.
RONDE_API void assign_named_weights(Module& net, const NamedTensors& weights);

/// What `assign_matching_weights` found, each in order of names.
struct MatchedWeights {
  std::vector<std::string> assigned;  ///< the net's weights that were set
  std::vector<std::string> kept;      ///< the net's weights that nothing fits: they are as they were
  std::vector<std::string> unused;    ///< arrays that fit nothing
};

/// For nets that go on from another one with other layers at the end (Keras' by_name and skip_mismatch,
/// PyTorch's strict=False): sets those of the built net's weights for which there is an array of the same
/// name and shape, and leaves the others. Layers with other names: rename the arrays.
///
///     Model old = Model::load("old.keras");
///     NamedTensors weights = named_weights(old.module());  // or read_npz(...), read_safetensors(...).tensors
///     for (auto& [name, values] : named_weights(old_encoder)) weights["encoder/" + name] = values;
///     const MatchedWeights matched = assign_matching_weights(model.module(), weights);
///
/// It says nothing of what does not fit: look at the result. On several ranks all call it alike, or rank 0
/// does before `compile`, which gives everybody its weights.
RONDE_API MatchedWeights assign_matching_weights(Module& net, const NamedTensors& weights);

}  // namespace ronde::inline v0
