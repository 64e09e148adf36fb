/// Helpers for the tests of nn/: gradients of layers against finite differences, and stored Keras values.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ronde/nn/module.h>

#include "support/gradient_check.h"

namespace ronde::test {

BuildOptions in_f64(std::uint64_t seed = 1);

nlohmann::json read_golden(const std::string& name);
/// Of {"shape": [2, 3], "values": [...]}; f64.
Tensor golden_tensor(const nlohmann::json& entry);

/// Global sample and epoch of each row, one behind the other, as Context::sample_keys.
Tensor sample_keys_of(const std::vector<std::int64_t>& pairs);

/// Gives every weight a value of its own, so that no zero hides a mistake.
void randomize(Module& module, std::uint64_t seed = 5);

/// The weight whose name ends in `suffix`.
Parameter find_parameter(const Module& module, const std::string& suffix);

/// Gradients of a built f64 module, for its input and all trainable weights, against central differences.
void expect_module_gradients(Module& module, const Tensor& x, const Context& context = {},
                             CheckOptions options = {});

}  // namespace ronde::test
