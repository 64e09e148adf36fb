/// ShardSum: adds up flat vectors of virtual shards, the same bits on any number of ranks.
///
///     ShardSum sum(communicator, {0, 8, 16}, count, options);    // two ranks with eight shards each
///     for (int shard = 0; shard < 8; ++shard) {                  // on rank 0
///       fill(sum.next());
///       sum.add(shard);
///     }
///     Tensor total = sum.finish(16);                             // on every rank
///
/// Note [Virtual shards]: in deterministic mode a global batch is cut into a fixed number of parts, whatever
/// the number of ranks. A part's gradient is computed by the same calls of the same kernels wherever it
/// lives, and FixedChunks makes these independent of the number of threads. What is left is the order of the
/// sums. It is one binary tree over the shards' numbers: 0 + 1, 2 + 3, then these two, and so on; a node
/// whose right half is empty is its left half. A rank adds up the nodes that lie within its shards; then each
/// rank gets one slice of all ranks' nodes, finishes the tree there, and the slices are gathered.
///
/// A rank holds as many vectors as its part of the tree is deep, and two more. Thread safety: one thread at a
/// time.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

class RONDE_API ShardSum {
 public:
  /// Rank r has the shards first_shards[r] ... first_shards[r + 1] - 1; the vectors have `count` elements of
  /// a floating dtype. The communicator must outlive it.
  ShardSum(Communicator& communicator, std::vector<int> first_shards, std::int64_t count,
           TensorOptions options);

  /// (count): where the next shard's vector is to be written. What was there before is undefined, but zeros
  /// at first. Valid until `add`.
  Tensor next();
  /// What `next` gave is the vector of `shard`; a rank's shards come in ascending order.
  void add(int shard);
  /// Collective. The sum of the shards 0 ... present - 1, of which this rank has added its own. (count), the
  /// same bits on all ranks; valid until `next`.
  Tensor finish(int present);

 private:
  /// A subtree: the sum of `size` shards from `first` on; first is a multiple of size, a power of two.
  struct Node {
    int first = 0;
    int size = 1;
    Tensor values;
  };

  Tensor padded_buffer();
  std::vector<Node> nodes_of(int rank, int present) const;
  bool is_sum_of_two(int present) const;
  std::vector<Node> exchange(int present);
  Tensor exchange_buffer(Tensor& kept, const Shape& shape) const;
  Tensor fold(std::vector<Node>& nodes, int first, int size, int present) const;

  Communicator* communicator_;
  std::vector<int> first_shards_;
  std::int64_t count_;
  std::int64_t slice_;  // elements of a rank's slice; all slices together are at least count_
  TensorOptions options_;
  Tensor current_;            // given out by next; padded, as all vectors here
  std::vector<Node> nodes_;   // of this rank, ascending
  std::vector<Tensor> free_;  // buffers nobody uses
  Tensor sent_, received_;    // of the last exchange
};

}  // namespace ronde::inline v0
