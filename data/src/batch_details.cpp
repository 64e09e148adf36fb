#include "batch_details.h"

#include <array>
#include <cstddef>
#include <memory>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kAlignment = 64;  // of a storage

struct Part {
  Tensor& tensor;
  Shape shape;
  DType dtype;
  std::size_t begin = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.count()) * size_of(dtype); }
};

}  // namespace

BatchDetails::BatchDetails(const Dataset& data, std::int64_t rows, const OfResident& each, Backend& backend) {
  std::array parts{Part{targets, data.target_shape().batch_of(rows), data.target_dtype()},
                   Part{keys, {rows, 2}, DType::i64}, Part{indices, {each.index ? rows : 0}, DType::i32},
                   Part{numbers, {rows, each.numbers}, DType::f64}};
  std::size_t size = 0;
  for (Part& part : parts) {
    part.begin = size;
    size += ceil_divide(part.bytes(), kAlignment) * kAlignment;
  }
  const auto memory = std::make_shared<Storage>(backend, size);
  block_ = Tensor::over(memory, {static_cast<std::int64_t>(size)}, DType::u8);
  for (const Part& part : parts) {
    void* begin = static_cast<char*>(memory->data()) + part.begin;
    part.tensor =
        Tensor::over(std::make_shared<Storage>(backend, begin, part.bytes(), memory), part.shape, part.dtype);
  }
}

}  // namespace ronde::inline v0
