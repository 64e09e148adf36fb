#include <ronde/distributed/shard_sum.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/whole_numbers.h>

#include "watchdog/operation_label.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kSliceUnit = 16;   // whole cache lines
constexpr std::int64_t kPiece = 1 << 16;  // elements that stay in cache from one sum to the next

void add_to(const Tensor& sum, const Tensor& addend) {
  sum.backend().accumulate(sum, addend, 1.0);
}

// Each vector to the one behind it, the first to the second first.
void add_along(const std::vector<Tensor>& chain) {
  const std::int64_t count = chain.front().count();
  const std::int64_t piece = chain.size() > 2 ? kPiece : count;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const Shape part{std::min(piece, count - begin)};
    for (std::size_t i = 1; i < chain.size(); ++i)
      add_to(chain[i].view(begin, part), chain[i - 1].view(begin, part));
  }
}

}  // namespace

ShardSum::ShardSum(Communicator& communicator, std::vector<int> first_shards, std::int64_t count,
                   TensorOptions options)
    : communicator_(&communicator), first_shards_(std::move(first_shards)), count_(count), options_(options) {
  const std::int64_t ranks = communicator.size();
  require<UsageError>(static_cast<std::int64_t>(first_shards_.size()) == ranks + 1 &&
                          std::is_sorted(first_shards_.begin(), first_shards_.end()),
                      "[shard_sum] expects the first shards of ", counted(ranks, "rank"), ", and their end");
  slice_ = ceil_divide(count, ranks * kSliceUnit) * kSliceUnit;
}

Tensor ShardSum::padded_buffer() {
  if (free_.empty()) return Tensor::zeros({slice_ * communicator_->size()}, options_);
  const Tensor buffer = free_.back();
  free_.pop_back();
  return buffer;
}

Tensor ShardSum::next() {
  if (!current_.defined()) current_ = padded_buffer();
  return current_.view(0, {count_});
}

// As a binary counter: two neighbours become one node as soon as both are there.
void ShardSum::add(int shard) {
  require(current_.defined(), "[shard_sum] add without next");
  Node node{shard, 1, std::exchange(current_, {})};
  std::vector<Tensor> chain{node.values};
  while (!nodes_.empty() && nodes_.back().size == node.size && node.first % (2 * node.size) != 0) {
    free_.push_back(node.values);
    node = {nodes_.back().first, 2 * node.size, nodes_.back().values};
    chain.push_back(node.values);
    nodes_.pop_back();
  }
  add_along(chain);
  nodes_.push_back(node);
}

// What `add` makes of a rank's shards, without the values.
std::vector<ShardSum::Node> ShardSum::nodes_of(int rank, int present) const {
  std::vector<Node> nodes;
  const auto r = static_cast<std::size_t>(rank);
  const int end = std::min(first_shards_[r + 1], present);
  for (int first = first_shards_[r]; first < end; first += nodes.back().size) {
    int size = 1;
    while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
    nodes.push_back({first, size, {}});
  }
  return nodes;
}

// The subtree of `size` shards from `first` on; undefined when it is empty.
Tensor ShardSum::fold(std::vector<Node>& nodes, int first, int size, int present) const {
  if (first >= present) return {};
  for (const Node& node : nodes)
    if (node.first == first && node.size == size) return node.values;
  const Tensor left = fold(nodes, first, size / 2, present);
  const Tensor right = fold(nodes, first + size / 2, size / 2, present);
  if (right.defined()) add_to(left, right);
  return left;
}

// Then an all-reduce gives the same bits with less copying: a + b is b + a.
bool ShardSum::is_sum_of_two(int present) const {
  return communicator_->size() == 2 && nodes_of(0, present).size() == 1 && nodes_of(1, present).size() == 1;
}

// Memory that was touched before costs no page faults.
Tensor ShardSum::exchange_buffer(Tensor& kept, const Shape& shape) const {
  if (!kept.defined() || kept.shape() != shape) kept = Tensor::empty(shape, options_);
  return kept;
}

// This rank's slice of all nodes.
std::vector<ShardSum::Node> ShardSum::exchange(int present) {
  const int ranks = communicator_->size();
  std::vector<Node> all;
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<Node> nodes = nodes_of(rank, present);
    all.insert(all.end(), nodes.begin(), nodes.end());
    counts.push_back(nodes.size());
  }
  const auto most = static_cast<std::int64_t>(*std::max_element(counts.begin(), counts.end()));

  // (ranks * most, slice): as many rows for each rank, the missing ones undefined.
  Tensor sent;
  if (most == 1 && !nodes_.empty()) {
    sent = nodes_.front().values.view(0, {ranks, slice_});
  } else {
    sent = exchange_buffer(sent_, {ranks * most, slice_});
    for (std::size_t m = 0; m < nodes_.size(); ++m)
      for (std::int64_t rank = 0; rank < ranks; ++rank)
        sent.view((rank * most + static_cast<std::int64_t>(m)) * slice_, {slice_})
            .copy_from(nodes_[m].values.view(rank * slice_, {slice_}));
  }
  const Tensor received = exchange_buffer(received_, {ranks * most, slice_});
  communicator_->alltoall(received, sent).wait();

  auto node = all.begin();
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t m = 0; m < counts[static_cast<std::size_t>(rank)]; ++m, ++node)
      node->values = received.view((rank * most + static_cast<std::int64_t>(m)) * slice_, {slice_});
  return all;
}

Tensor ShardSum::finish(int present) {
  const OperationLabel label("the sum of all gradients");
  require<UsageError>(present >= 1 && present <= first_shards_.back(), "[shard_sum] ", present, " of ",
                      counted(first_shards_.back(), "shard"));
  const std::vector<Node> planned = nodes_of(communicator_->rank(), present);
  require(std::equal(planned.begin(), planned.end(), nodes_.begin(), nodes_.end(),
                     [](const Node& a, const Node& b) { return a.first == b.first && a.size == b.size; }),
          "[shard_sum] finished without the vectors of all own shards");
  const int root = static_cast<int>(std::bit_ceil(static_cast<unsigned>(present)));
  Tensor total;
  if (communicator_->size() == 1) {
    total = fold(nodes_, 0, root, present);
  } else if (is_sum_of_two(present)) {
    total = nodes_.front().values;
    communicator_->allreduce(total.view(0, {count_})).wait();
  } else {
    std::vector<Node> slices = exchange(present);
    const Tensor slice = fold(slices, 0, root, present);
    total = nodes_.empty() ? padded_buffer() : nodes_.front().values;
    if (nodes_.empty()) free_.push_back(total);
    communicator_->allgather(total.view(0, {communicator_->size(), slice_}), slice.view(0, {1, slice_}))
        .wait();
  }
  for (Node& node : nodes_) free_.push_back(std::move(node.values));
  nodes_.clear();
  return total.view(0, {count_});
}

}  // namespace ronde::inline v0
