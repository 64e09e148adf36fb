#include <ronde/core/dtype.h>

namespace ronde::inline v0 {

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, [](auto zero) { return sizeof zero; });
}

std::string to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::bf16:
      return "bf16";
    case DType::u8:
      return "u8";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
  }
  return "?";
}

}  // namespace ronde::inline v0
