#include "exchange/top_k_exchange.h"

#include <algorithm>
#include <cmath>

#include "exchange/select_largest.h"

namespace ronde::inline v0 {

TopKExchange::TopKExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                           compression::TopK choice)
    : GradientExchange(arena, communicator, options), choice_(choice), memory_(counts(), this->options()) {}

void TopKExchange::expect(const StepOutlook& outlook) {
  GradientExchange::expect(outlook);
  memory_.expect(outlook.total_samples);
}

void TopKExchange::end_step(double total_samples) {
  memory_.end_step(total_samples, arena().gradients(), size());
}

std::int64_t TopKExchange::kept(const Segment& segment) const {
  const auto share = static_cast<std::int64_t>(std::ceil(choice_.ratio * static_cast<double>(segment.count)));
  return std::clamp<std::int64_t>(share, 1, segment.count);
}

void TopKExchange::run(const Part& part, Wire& wire) {
  visit_real(part.values.dtype(), "distributed_optimizer",
             [&](auto tag) { run_typed<decltype(tag)>(part, wire); });
}

// Each rank's places and values go to all ranks, which add them up in the order of the ranks.
template <class T>
void TopKExchange::run_typed(const Part& part, Wire& wire) {
  T* left = memory_.add_to(part.index, part.values).template data<T>();
  std::vector<std::int32_t> places;
  std::vector<T> values;
  for (const Segment& segment : part.segments) {
    for (const std::int32_t place : select_largest(left + segment.offset, segment.count, kept(segment))) {
      T& value = left[segment.offset + place];
      places.push_back(static_cast<std::int32_t>(segment.offset) + place);
      values.push_back(value);
      value = T{0};
    }
  }
  const auto count = static_cast<std::int64_t>(places.size());
  const Tensor all_places =
      Tensor::empty({size() * count}, {.dtype = DType::i32, .backend = options().backend});
  const Tensor all_values = Tensor::empty({size() * count}, options());
  wire.gather(all_places, Tensor::from<std::int32_t>({count}, places, options().backend));
  wire.gather(all_values, Tensor::from<T>({count}, values, options().backend));

  part.values.fill(0.0);
  T* sums = part.values.data<T>();
  for (std::int64_t i = 0; i < size() * count; ++i)
    sums[all_places.data<std::int32_t>()[i]] += all_values.data<T>()[i];
}

}  // namespace ronde::inline v0
