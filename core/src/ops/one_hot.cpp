#include <ronde/core/backend.h>
#include <ronde/core/ops.h>

namespace ronde::inline v0 {

// Numbers below 2^24 are exact in f32, and more classes than that are nobody's.
Tensor one_hot(const Tensor& labels, std::int64_t classes) {
  require(labels.defined() && !is_floating(labels.dtype()), "[one_hot] expects integer labels, got ", labels);
  require<UsageError>(classes >= 1 && classes <= std::int64_t{1} << 24,
                      "[one_hot] classes must be in 1 ... 2^24, got ", classes);
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < classes; ++i) numbers.push_back(static_cast<float>(i));
  Shape shape = labels.shape(), column = labels.shape();
  shape.push_back(classes);
  column.push_back(1);
  Backend& backend = labels.backend();
  const Tensor out = Tensor::empty(shape, {.backend = &backend});
  backend.binary(BinaryOp::equal, out, labels.to(DType::f32).reshape(column).broadcast_to(shape),
                 Tensor::from<float>({classes}, numbers, &backend).broadcast_to(shape));
  return out;
}

}  // namespace ronde::inline v0
