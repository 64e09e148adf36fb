#include "cuda/plan_key.h"

#include <type_traits>

namespace ronde::inline v0::cuda {

namespace {

class Key {
 public:
  template <class... Ts>
  void add(const Ts&... values) {
    (append(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void append(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding would be part of the key");
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string bytes_;
};

// The address as far as a vector load cares.
std::uint8_t alignment(const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return static_cast<std::uint8_t>(address % 16);
}

}  // namespace

std::string plan_key(const Call& call, const MathOptions& math) {
  const Attributes& a = call.attributes;
  Key key;
  key.add(call.op, math.mode, math.engines, a.epilogue, a.products, a.matmul, a.conv);
  for (int i = 0; i < call.operands; ++i) {
    const Operand& x = call[i];
    key.add(x.defined, x.dtype, x.rank, x.shape, x.strides, alignment(x.data));
  }
  return key.take();
}

}  // namespace ronde::inline v0::cuda
