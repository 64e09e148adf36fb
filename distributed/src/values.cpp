#include <ronde/distributed/values.h>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>

namespace ronde::inline v0 {

Tensor tensor_over(void* data, std::size_t count, DType dtype) {
  auto storage = std::make_shared<Storage>(backend("cpu"), data, count * size_of(dtype), nullptr);
  return Tensor::over(std::move(storage), {static_cast<std::int64_t>(count)}, dtype);
}

Pending<double> allreduce_value(Communicator& communicator, double value, const AllreduceOptions& options) {
  const Tensor tensor = Tensor::full({1}, value, {.dtype = DType::f64, .backend = &backend("cpu")});
  return {communicator.allreduce(tensor, options), [tensor] { return *tensor.data<double>(); }};
}

}  // namespace ronde::inline v0
