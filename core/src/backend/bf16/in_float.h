/// Kernels on bfloat16 by way of float: what bf16 tensors a kernel gets are widened, and its results rounded.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

inline bool is_bfloat16(const Tensor& tensor) {
  return tensor.defined() && tensor.dtype() == DType::bf16;
}

/// A tensor that a kernel is called with, and what the kernel does with it.
struct KernelArgument {
  enum class Access { read, written, updated };
  const Tensor& tensor;
  Access access;

  /// The tensor itself unless it is bf16: then a float copy of it, or room for what is written.
  Tensor widened() const;
  /// Rounds what the kernel left in `wide` to the tensor, if it is another one that is not only read.
  void round(const Tensor& wide) const;
};

inline KernelArgument read(const Tensor& tensor) {
  return {tensor, KernelArgument::Access::read};
}
inline KernelArgument written(const Tensor& tensor) {
  return {tensor, KernelArgument::Access::written};
}
inline KernelArgument updated(const Tensor& tensor) {
  return {tensor, KernelArgument::Access::updated};
}

/// The tensors of a call's arguments, float ones in place of bf16.
class FloatTensors {
 public:
  /// Keeps `arguments`.
  explicit FloatTensors(std::span<const KernelArgument> arguments);
  const Tensor& operator[](std::size_t i) const { return wide_.empty() ? arguments_[i].tensor : wide_[i]; }
  /// What a kernel left in them is rounded to the arguments' own.
  void round() const;

 private:
  std::span<const KernelArgument> arguments_;
  std::vector<Tensor> wide_;  // none, if there is no bf16
};

/// Calls `kernel` with the arguments' tensors, float ones in place of bf16.
template <class Kernel, class... Arguments>
void with_floats(const Kernel& kernel, const Arguments&... arguments) {
  const std::array all{arguments...};
  const FloatTensors tensors(all);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    kernel(tensors[i]...);
  }(std::index_sequence_for<Arguments...>());
  tensors.round();
}

/// The same if one of them is bf16. False where nothing is to be done for none is.
template <class Kernel, class... Arguments>
bool in_float(const Kernel& kernel, const Arguments&... arguments) {
  if (!(is_bfloat16(arguments.tensor) || ...)) return false;
  with_floats(kernel, arguments...);
  return true;
}

}  // namespace ronde::inline v0
