/// Collectives over plain host values: vectors, arrays and spans of float, double, bfloat16, std::uint8_t,
/// std::int32_t, std::int64_t and bool.
///
///     std::vector<float> losses = ...;
///     allreduce(world, losses, {.op = Reduction::average}).wait();         // in place
///     const std::vector<int> all = allgather(world, mine).wait();          // any number from each rank
///     const double mean = allreduce_value(world, loss).wait();
///
/// Nothing is copied: the memory must stay where it is until `wait`. Bools stay bools: max and sum are "any",
/// min and product are "all"; std::vector<bool>, which is no memory of bools, is sent as an object
/// (objects.h).
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

template <class T>
concept HostValue = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bfloat16> ||
    std::same_as<T, std::uint8_t> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, bool>;

/// A contiguous range of such values.
template <class R>
concept HostValues = requires(R& range) {
  std::span(range);
  requires HostValue<typename decltype(std::span(range))::value_type>;
};

/// Such values that may be written.
template <class R>
concept MutableHostValues =
    HostValues<R> && !std::is_const_v<typename decltype(std::span(std::declval<R&>()))::element_type>;

/// A tensor (count) over host memory that the caller keeps alive.
RONDE_API Tensor tensor_over(void* data, std::size_t count, DType dtype);

template <HostValues R>
Tensor tensor_over(R& range) {
  const std::span values(range);
  using T = typename decltype(values)::value_type;
  constexpr DType dtype = dtype_of<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;
  return tensor_over(const_cast<T*>(values.data()), values.size(), dtype);
}

/// For bools, which are sent as bytes 0 and 1, a reduction whose results are such bytes.
template <HostValues R>
AllreduceOptions options_for(AllreduceOptions options) {
  if (std::is_same_v<typename decltype(std::span(std::declval<R&>()))::value_type, bool>) {
    if (options.op == Reduction::sum) options.op = Reduction::max;
    if (options.op == Reduction::product) options.op = Reduction::min;
  }
  return options;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const T* data = static_cast<const T*>(tensor.raw());
  return std::vector<T>(data, data + tensor.count());
}

/// In place.
template <MutableHostValues R>
Work allreduce(Communicator& communicator, R&& values, const AllreduceOptions& options = {}) {
  return communicator.allreduce(tensor_over(values), options_for<R>(options));
}

/// In place; as many values on every rank as root has.
template <MutableHostValues R>
Work broadcast(Communicator& communicator, R&& values, int root = 0, const std::string& name = {}) {
  return communicator.broadcast(tensor_over(values), root, name);
}

/// The values of all ranks, in rank order; each may give another number of them.
template <HostValues R>
auto allgather(Communicator& communicator, R&& values, const std::string& name = {}) {
  using T = typename decltype(std::span(values))::value_type;
  return communicator.allgather(tensor_over(values), name).map(&values_of<T>);
}

/// This rank's share of the reduced values: the first count % size ranks get one more than the others.
template <HostValues R>
auto reduce_scatter(Communicator& communicator, R&& values, const AllreduceOptions& options = {}) {
  using T = typename decltype(std::span(values))::value_type;
  return communicator.reduce_scatter(tensor_over(values), options_for<R>(options)).map(&values_of<T>);
}

/// splits[r] values go to rank r; gives those that came.
template <class T>
struct ReceivedValues {
  std::vector<T> values;
  std::vector<std::int64_t> counts;  ///< how many came from which rank
};
template <HostValues R>
auto alltoall(Communicator& communicator, R&& values, const std::vector<std::int64_t>& splits,
              const std::string& name = {}) {
  using T = typename decltype(std::span(values))::value_type;
  return communicator.alltoall(tensor_over(values), splits, name).map([](const ReceivedRows& received) {
    return ReceivedValues<T>{values_of<T>(received.rows), received.counts};
  });
}

/// One number of each rank becomes one for all; the mean, unless asked otherwise.
RONDE_API Pending<double> allreduce_value(Communicator& communicator, double value,
                                          const AllreduceOptions& options = {.op = Reduction::average});

}  // namespace ronde::inline v0
