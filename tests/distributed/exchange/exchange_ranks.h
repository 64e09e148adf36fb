/// Ranks whose gradients are numbers of the test's choice, for exchanges: a net of two matrices and two
/// vectors, f64 or f32, in several buckets.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/nn/dense.h>

#include "exchange/gradient_exchange.h"
#include "support/thread_ranks.h"

namespace ronde::test {

inline const BucketOptions kExchangeBuckets{.first_bucket_bytes = 64, .bucket_bytes = 1024};

struct ExchangeNet : Module {
  Dense first{{.units = 12}};
  Dense second{{.units = 9}};

  explicit ExchangeNet(DType dtype = DType::f64) {
    add_module("first", first);
    add_module("second", second);
    build({10}, {.seed = 3, .dtype = dtype, .backend = &backend("cpu")});
  }
  Variable forward(const Variable& x, const Context& context) override {
    return second(first(x, context), context);
  }
};

/// Of one rank: an arena and what exchanges its gradients.
class ExchangeRank {
 public:
  ExchangeRank(Communicator& world, const DistributedOptions& options, DType dtype = DType::f64)
      : net_(dtype), arena_(net_), exchange_(make_exchange(arena_, world, options)), options_(options) {}

  ParameterArena& arena() { return arena_; }
  GradientExchange& exchange() { return *exchange_; }

  /// `value(i)` is element i of this rank's gradients; padding stays zero. Returns what the exchange makes of
  /// them.
  std::vector<double> run(const std::function<double(std::int64_t)>& value) {
    std::vector<double> given(static_cast<std::size_t>(arena_.trainable_size()), 0.0);
    for (const Segment& segment : arena_.segments())
      for (std::int64_t i = segment.offset; i < segment.offset + segment.count; ++i)
        given[static_cast<std::size_t>(i)] = value(i);
    const Tensor flat = arena_.gradients().view(0, {arena_.trainable_size()});
    flat.copy_from(Tensor::from<double>(flat.shape(), given, &backend("cpu")));
    std::vector<Work> works;
    for (std::size_t b = 0; b < GradientBuckets::plan(arena_, options_.buckets).size(); ++b)
      works.push_back(exchange_->start(b));
    for (const Work& work : works) work.wait();
    return flat.to_vector<double>();
  }

 private:
  ExchangeNet net_;
  ParameterArena arena_;
  std::shared_ptr<GradientExchange> exchange_;
  DistributedOptions options_;
};

/// Irregular numbers of many magnitudes, the same everywhere.
inline double irregular(std::int64_t i, int rank, int step) {
  const double x = std::sin(1.7 * static_cast<double>(i) + 2.3 * rank + 0.9 * step);
  return x * std::exp2(static_cast<double>((7 * i + 3 * rank + step) % 11) - 5.0);
}

/// All ranks have the same numbers, bit for bit.
inline void expect_same_on_all(Communicator& world, const std::vector<double>& values) {
  const Tensor own =
      Tensor::from<double>({static_cast<std::int64_t>(values.size())}, values, &backend("cpu"));
  const Tensor zero = own.clone();
  world.broadcast(zero, 0).wait();
  EXPECT_EQ(zero.to_vector<double>(), values) << "rank " << world.rank();
}

}  // namespace ronde::test
