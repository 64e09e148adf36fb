/// Horovod's verbs as functions over the world of `ronde::init`:
///
///     init(argc, argv);
///     allreduce(gradient, Reduction::average).wait();
///     const double mean = allreduce_value(loss).wait();
///
/// Each is the `Communicator`'s verb, or the function of values.h and objects.h, of the same name.
#pragma once

#include <concepts>
#include <utility>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/objects.h>
#include <ronde/distributed/process_set.h>
#include <ronde/distributed/values.h>

namespace ronde::inline v0 {

/// The world communicator, for `allreduce(loss)` and the like; an error before `init`.
RONDE_API Communicator& world();

inline Work allreduce(const Tensor& data, Reduction op = Reduction::sum) {
  return world().allreduce(data, op);
}
inline Work allreduce(const Tensor& data, const AllreduceOptions& options) {
  return world().allreduce(data, options);
}
inline Work grouped_allreduce(const std::vector<Tensor>& tensors, const AllreduceOptions& options = {}) {
  return world().grouped_allreduce(tensors, options);
}
inline Work broadcast(const Tensor& data, int root = 0, const std::string& name = {}) {
  return world().broadcast(data, root, name);
}
inline Pending<Tensor> allgather(const Tensor& in, const std::string& name = {}) {
  return world().allgather(in, name);
}
inline Pending<Tensor> reduce_scatter(const Tensor& in, const AllreduceOptions& options = {}) {
  return world().reduce_scatter(in, options);
}
inline Pending<ReceivedRows> alltoall(const Tensor& in, const std::vector<std::int64_t>& splits,
                                      const std::string& name = {}) {
  return world().alltoall(in, splits, name);
}
inline Work barrier(const std::string& name = {}) {
  return world().barrier(name);
}

template <MutableHostValues R>
Work allreduce(R&& values, const AllreduceOptions& options = {}) {
  return allreduce(world(), values, options);
}
template <MutableHostValues R>
Work broadcast(R&& values, int root = 0, const std::string& name = {}) {
  return broadcast(world(), values, root, name);
}
template <HostValues R>
auto allgather(R&& values, const std::string& name = {}) {
  return allgather(world(), values, name);
}
inline Pending<double> allreduce_value(double value,
                                       const AllreduceOptions& options = {.op = Reduction::average}) {
  return allreduce_value(world(), value, options);
}

template <class T>
requires(!std::derived_from<T, Communicator>) Pending<T> broadcast_object(const T& value, int root = 0,
                                                                          const std::string& name = {}) {
  return broadcast_object(world(), value, root, name);
}
template <class T>
requires(!std::derived_from<T, Communicator>) Pending<std::vector<T>> allgather_object(
    const T& value, const std::string& name = {}) {
  return allgather_object(world(), value, name);
}

}  // namespace ronde::inline v0
