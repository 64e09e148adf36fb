/// Operations, as Keras 3 notes them in a net beside its layers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Whether a class is an operation that no layer is called like: TrueDivide and Negative, of `-x / 255`, and
/// those of masks.
bool is_operation(const std::string& class_name);
/// Whether a class is an operation that Keras 3 makes masks by: NotEqual, Any, LogicalOr, and
/// ConvertToTensor, by which an Attention hands one on.
bool is_mask_operation(const std::string& class_name);
/// The value that a layer makes a mask of, if it does: a Masking, or an Embedding with mask_zero.
std::optional<double> masked_value(const Module& layer);
/// The first number among the arguments of an operation.
std::optional<double> number_among(const ConfigValue& arguments);

/// To Keras 3 `x * 2 + 1` are calls of operations that are named as layers are, Add and Multiply, with a
/// number among their two arguments: a Rescaling computes the same, and every Keras knows it. nullptr for
/// other calls.
std::unique_ptr<Module> as_rescaling(const std::string& class_name, const ConfigValue& arguments);

}  // namespace ronde::inline v0
