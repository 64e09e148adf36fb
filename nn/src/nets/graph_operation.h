/// Operations, as Keras 3 notes them in a net beside its layers.
#pragma once

#include <memory>
#include <string>

#include <ronde/nn/config.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Whether a class is an operation that no layer is called like: TrueDivide and Negative, of `-x / 255`, and
/// those of masks.
bool is_operation(const std::string& class_name);
/// Whether a class is an operation that Keras 3 makes masks by: NotEqual, Any, LogicalOr.
bool is_mask_operation(const std::string& class_name);
/// Whether a layer makes a mask of its input: a Masking, or an Embedding with mask_zero.
bool makes_mask(const Module& layer);

/// To Keras 3 `x * 2 + 1` are calls of operations that are named as layers are, Add and Multiply, with a
/// number among their two arguments: a Rescaling computes the same, and every Keras knows it. nullptr for
/// other calls.
std::unique_ptr<Module> as_rescaling(const std::string& class_name, const ConfigValue& arguments);

}  // namespace ronde::inline v0
