#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

TEST(Dropout, SameMaskEverywhere) {
  for (const Shape& shape : {Shape{0, 5}, Shape{1, 1}, Shape{3, 4, 4, 5}, Shape{5, 257}, Shape{2, 1000}})
    for (const double rate : {0.0, 1e-9, 0.25, 0.5, 0.9999}) {
      SCOPED_TRACE(cat(shape, " rate ", rate));
      std::vector<std::int64_t> keys;
      for (std::int64_t i = 0; i < shape[0]; ++i) keys.insert(keys.end(), {i * 5000000000 + 3, 7});
      const Tensor sample_keys = Tensor::from<std::int64_t>({shape[0], 2}, keys, &oracle());
      // Exact zeros and kept elements must agree: the tolerance is far below any kept value.
      compare({blank(shape)}, {random(shape, 1, 0.5, 1), sample_keys},
              [&](Backend& b, Tensors out, Tensors in) {
                b.dropout(out[0], in[0], in[1], {.rate = rate, .seed = 42, .op = 3});
              },
              {.f32 = 1e-7, .f64 = 1e-15});
    }
}

}  // namespace
}  // namespace ronde::test
