#include "exchange/sharded_exchange.h"

namespace ronde::inline v0 {

ArenaRange ShardedExchange::range_of(std::size_t bucket, int rank) const {
  const std::int64_t begin = buckets()[bucket].begin, slice = counts()[bucket] / size();
  const bool is_last = rank + 1 == size();
  return {begin + rank * slice, is_last ? begin + counts()[bucket] : begin + (rank + 1) * slice};
}

std::vector<ArenaRange> ShardedExchange::ranges_of(int rank) const {
  std::vector<ArenaRange> ranges;
  for (std::size_t b = 0; b < buckets().size(); ++b)
    if (const ArenaRange range = range_of(b, rank); range.count() > 0) ranges.push_back(range);
  return ranges;
}

void ShardedExchange::run(const Part& part, Wire& wire) {
  const std::int64_t even = even_count(part.index), slice = even / size();
  const std::int64_t rest = part.values.count() - even;
  if (slice > 0) wire.sum_scatter(part.values.view(rank() * slice, {slice}), part.values.view(0, {even}));
  if (rest > 0) wire.sum(part.values.view(even, {rest}));
}

void ShardedExchange::gather(const Tensor& flat) {
  const auto gather_all = [this, &flat](Communicator& parts) {
    Wire wire = this->wire(parts);
    for (std::size_t b = 0; b < buckets().size(); ++b) {
      const std::int64_t begin = buckets()[b].begin, even = even_count(b), slice = even / size();
      const std::int64_t rest = counts()[b] - even;
      if (slice > 0) wire.gather(flat.view(begin, {even}), flat.view(begin + rank() * slice, {slice}));
      if (rest > 0) wire.broadcast(flat.view(begin + even, {rest}), size() - 1);
    }
  };
  communicator().sequence("sharded weights", gather_all).wait();
}

Tensor ShardedExchange::gather_at(int root, const Tensor& own) {
  const bool is_root = rank() == root;
  const Tensor whole = is_root ? arena().make_state() : Tensor();
  std::int64_t begin = 0;
  for (std::size_t b = 0; b < buckets().size(); ++b) {
    if (counts()[b] == 0) continue;
    // In turn, so that only the root ever holds more than a bucket of it.
    const Tensor bucket = Tensor::zeros({counts()[b]}, options());
    std::vector<std::int64_t> of_ranks;
    for (int r = 0; r < size(); ++r) of_ranks.push_back(range_of(b, r).count());
    const std::int64_t count = of_ranks[static_cast<std::size_t>(rank())];
    communicator().allgatherv(bucket, own.view(begin, {count}), of_ranks).wait();
    if (is_root) whole.view(buckets()[b].begin, {counts()[b]}).copy_from(bucket);
    begin += count;
  }
  return whole;
}

void ShardedExchange::scatter_from(int root, const Tensor& whole, const Tensor& own) {
  std::int64_t begin = 0;
  for (std::size_t b = 0; b < buckets().size(); ++b) {
    if (counts()[b] == 0) continue;
    const ArenaRange range = range_of(b, rank());
    const Tensor bucket = Tensor::zeros({counts()[b]}, options());
    if (rank() == root) bucket.copy_from(whole.view(buckets()[b].begin, {counts()[b]}));
    communicator().broadcast(bucket, root).wait();
    own.view(begin, {range.count()})
        .copy_from(bucket.view(range.begin - buckets()[b].begin, {range.count()}));
    begin += range.count();
  }
}

}  // namespace ronde::inline v0
