#include "exchange/plain_exchange.h"

#include "exchange/sparse_rows.h"

namespace ronde::inline v0 {

Work PlainExchange::start(std::size_t index) {
  const GradientBuckets::Bucket& bucket = buckets()[index];
  const auto& segments = arena().segments();
  if (bucket.first_segment < bucket.last_segment && segments[bucket.first_segment].sparse)
    return GradientExchange::start(index);
  const Tensor values = arena().gradients().view(bucket.begin, {bucket.end - bucket.begin});
  wire(communicator()).count_sum(values);
  return communicator().allreduce(values, Reduction::sum);
}

void PlainExchange::run(const Part& part, Wire& wire) {
  const Segment& segment = part.segments.front();  // sparse, so it is alone
  const Shape rows{segment.shape[0], segment.count / segment.shape[0]};
  sum_sparse_rows(part.values.view(segment.offset, rows), wire);
}

}  // namespace ronde::inline v0
