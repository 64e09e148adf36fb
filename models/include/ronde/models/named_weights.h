/// The weights of a net as named arrays, for files that hold nothing else (safetensors, npz).
///
///     NamedTensors weights = named_weights(model.module(), WeightNames::torch);
///     weights.at("conv2d.weight");  // (filters, c, kh, kw)
///
/// Two flavours of names and layouts:
///
///  * keras: `conv2d/kernel` (kh, kw, in, out), `conv2d/bias`;
///    `depthwise_conv2d/depthwise_kernel` (kh, kw, c, multiplier); `dense/kernel` (in, out);
///    batch normalisation: `gamma`, `beta`, `moving_mean`, `moving_variance`
///  * torch: `conv2d.weight` (out, in, kh, kw), `conv2d.bias`;
///    `depthwise_conv2d.weight` (c * multiplier, 1, kh, kw); `dense.weight` (out, in);
///    batch normalisation: `weight`, `bias`, `running_mean`, `running_var`
///
/// Note [Flattened images]: Keras and Ronde flatten an image as h, w, c, a net of PyTorch as c, h, w. In the
/// flavour `torch` the rows of what follows a Flatten (batch normalisation, then the first dense layer) are
/// put into PyTorch's order, so that the same net written in PyTorch gives the same answers. The order of
/// layers must be known for that: a module with a forward() of its own is taken as it is.
#pragma once

#include <map>
#include <string>

#include <ronde/core/tensor.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

enum class WeightNames { keras, torch };

using NamedTensors = std::map<std::string, Tensor>;

/// Copies of all weights of a built net, moving statistics included, in host memory.
RONDE_API NamedTensors named_weights(const Module& net, WeightNames names = WeightNames::keras);

/// Sets all weights of a built net from arrays of either flavour, told apart by their names. Everything is
/// compared before anything is assigned: an InputError names the weight that is missing, unknown or of
/// another shape. `num_batches_tracked` of PyTorch is ignored.
RONDE_API void assign_named_weights(Module& net, const NamedTensors& weights);

}  // namespace ronde::inline v0
