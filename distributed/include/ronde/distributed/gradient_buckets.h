/// GradientBuckets: sums an arena's gradients over all ranks while the backward pass goes on.
///
///     GradientBuckets buckets(arena, communicator, {});
///     sum(losses).backward();      // each bucket leaves as soon as its gradients are final
///     buckets.finish();            // the rest leaves; returns when every sum is there
///
/// A bucket is a slice of the flat gradient buffer, so nothing is copied. See Note [Bucket order].
/// Ownership: arena and communicator must outlive it. Thread safety: as the variables'.
///
/// What it does not do, on purpose: choose buckets by itself, negotiate with other ranks, work on a
/// timer, or divide: sums are divided once, by the optimizer's step. Nor does it know what becomes of a
/// bucket that leaves; that is a GradientExchange's part (src/exchange), which may compress.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ronde/distributed/communicator.h>
#include <ronde/distributed/distributed_options.h>
#include <ronde/nn/parameter_arena.h>

namespace ronde::inline v0 {

class GradientExchange;

class RONDE_API GradientBuckets {
 public:
  /// Elements [begin, end) of the arena's gradients: segments [first_segment, last_segment).
  struct Bucket {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t first_segment = 0;
    std::size_t last_segment = 0;
  };
  /// The buckets for this arena; the last one ends behind the extras when these follow directly.
  static std::vector<Bucket> plan(const ParameterArena& arena, BucketOptions options);

  /// Sums, or what `exchange` makes of the ranks' gradients.
  GradientBuckets(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                  std::shared_ptr<GradientExchange> exchange = nullptr);
  /// Buckets under way are not waited for: an error may be the reason.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Other buckets from the next pass on, between passes; all ranks alike. `exchange`: as for the
  /// constructor.
  void cut_anew(BucketOptions options, std::shared_ptr<GradientExchange> exchange);

  /// While false, backward passes only accumulate here; nothing leaves.
  void set_synchronize(bool synchronize);
  /// So they do between a `hold` and its `release`, however often they are nested.
  void hold();
  void release();
  /// A pass that was broken off is begun anew, with gradients from zero, wherever in it each rank was;
  /// nothing where none was. The arena's `zero_gradients` does that too, also where it is the second of a
  /// pass of which no gradient has arrived: Note [Begun anew].
  void restart();
  /// The pass has not taken place, on any rank, wherever in it each of them was: as one that was captured for
  /// a graph which not all can have. Nothing is exchanged.
  void abandon();
  /// Collective. Starts every bucket that has not left yet (gradients that did not arrive count as zero),
  /// waits for all, and is ready for the next pass.
  void finish();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the hooks, which outlive this object in the variables
};

}  // namespace ronde::inline v0
