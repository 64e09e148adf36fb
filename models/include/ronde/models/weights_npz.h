/// Weights as NumPy's .npz, with their names as names of the arrays.
///
///     write_npz("net.npz", model.module());      // np.load("net.npz")["conv2d/kernel"], in Keras' layout
///     assign_named_weights(model.module(), read_npz("net.npz"));
#pragma once

#include <string>

#include <ronde/data/npz.h>
#include <ronde/models/named_weights.h>

namespace ronde::inline v0 {

/// Replaces the file atomically. IoError.
RONDE_API void write_npz(const std::string& path, const NamedTensors& arrays);
RONDE_API void write_npz(const std::string& path, const Module& net, WeightNames names = WeightNames::keras);

}  // namespace ronde::inline v0
