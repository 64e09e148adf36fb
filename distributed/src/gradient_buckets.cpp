#include <ronde/distributed/gradient_buckets.h>

#include <exception>

#include <ronde/core/trace.h>

#include "exchange/gradient_exchange.h"
#include "watchdog/operation_label.h"

namespace ronde::inline v0 {

// Note [Bucket order]: the arena lists parameters in reverse order of execution, about the order in which
// backward finishes them, and buckets are cut from it front to back: a small first one, then larger ones. A
// bucket ends with the parameter that fills it, however large that is: were it kept for the next bucket, that
// would hold it back for whatever else it has room for, often until the end of the backward pass.
// Bucket k leaves only after bucket k - 1, whatever order gradients arrive in, so the ranks start the same
// collectives in the same order although control flow may differ between them. Parameters that a rank did not
// use hold up their bucket, and those behind it, until `finish`.
//
// Note [Begun anew]: after an exception the ranks may be in different places of a pass, one of them perhaps
// in its `zero_gradients` while the others still want its buckets. There it starts barriers instead of
// buckets: each is an error to a rank that is elsewhere, and ends that one's pass too, until all ranks are in
// `zero_gradients` and their barriers meet. No bucket of the old pass can take one of the new pass for its
// own. A rank of which no gradient has arrived has broken a pass off if it zeroes them again before a step:
// in the forward pass perhaps, while the others were in a sum of a synchronized layer, or went on. Who does
// so in good order does it on all ranks, and they only wait for each other once more.

namespace {

// "bucket 2: dense/kernel, dense/bias"; kept for ever, as few nets have many.
const char* label_of(const ParameterArena& arena, const GradientBuckets::Bucket& bucket, std::size_t number) {
  std::string names;
  for (std::size_t s = bucket.first_segment; s < bucket.last_segment; ++s)
    names += cat(names.empty() ? "" : ", ", arena.segments()[s].name);
  return trace_name(cat("bucket ", number, names.empty() ? "" : ": ", names));
}

}  // namespace

struct GradientBuckets::State {
  State(ParameterArena& arena_in, Communicator& communicator_in, BucketOptions options,
        std::shared_ptr<GradientExchange> exchange_in)
      : arena(arena_in),
        communicator(communicator_in),
        ready(arena_in.segments().size(), false),
        bucket_of(ready.size(), 0) {
    cut(options, std::move(exchange_in));
  }

  void cut(BucketOptions options, std::shared_ptr<GradientExchange> exchange_in) {
    exchange = std::move(exchange_in);
    buckets = plan(arena, options);
    missing.assign(buckets.size(), 0);
    labels.clear();
    for (std::size_t b = 0; b < buckets.size(); ++b) labels.push_back(label_of(arena, buckets[b], b));
    for (std::size_t b = 0; b < buckets.size(); ++b)
      for (std::size_t s = buckets[b].first_segment; s < buckets[b].last_segment; ++s) bucket_of[s] = b;
    begin_pass();
  }

  void begin_pass() {
    next = 0;
    is_zeroed = false;
    is_begun = false;
    works.clear();
    ready.assign(ready.size(), false);
    for (std::size_t b = 0; b < buckets.size(); ++b)
      missing[b] = buckets[b].last_segment - buckets[b].first_segment;
  }

  void launch_next() {
    const TraceScope scope("launch", "launch bucket", {"bucket", next});
    const TraceTag tag({"bucket", next});
    const OperationLabel label(labels[next]);
    works.push_back(exchange->start(next));
    ++next;
  }

  // The pass is over. What has left is waited for, all of it: who hears of an error may write next what the
  // operations behind the one that failed read. Gives the first error of all ranks; one of this rank alone
  // leaves at once, as the others may never come to what is behind it.
  std::exception_ptr end_pass() {
    const std::vector<Work> of_pass = std::move(works);
    begin_pass();
    std::exception_ptr first;
    for (const Work& work : of_pass) {
      try {
        work.wait();
      } catch (const CollectiveError&) {
        if (!first) first = std::current_exception();
      }
    }
    return first;
  }

  // See Note [Begun anew].
  void on_zero() {
    const bool counts = synchronize && holders == 0;
    if (is_begun || has_failed || (is_zeroed && counts)) begin_anew();
    is_zeroed |= counts;
  }

  void begin_anew() {
    has_failed = true;
    end_pass();
    // A rank that is elsewhere has at most all its buckets before it comes here.
    for (std::size_t left = buckets.size(); has_failed; --left) {
      try {
        communicator.barrier("gradients begun anew").wait();
        has_failed = false;
      } catch (const CollectiveError&) {
        if (left == 0) throw;
      }
    }
  }

  void on_ready(std::size_t segment) {
    if (!synchronize || holders > 0) return;
    const std::size_t bucket = bucket_of[segment];
    require(
        bucket >= next, "[distributed_optimizer] ", arena.segments()[segment].name,
        " got another gradient after its sum over the ranks had started: hold a NoSync during all backward "
        "passes but the last one before step(); zero_gradients() of the arena, or expect() of the optimizer, "
        "begins a pass anew that was broken off");
    is_begun = true;
    if (ready[segment]) return;
    ready[segment] = true;
    --missing[bucket];
    if (!exchange->may_start()) return;
    // The last bucket carries the extras, which are known in `finish` only.
    while (next + 1 < buckets.size() && missing[next] == 0) launch_next();
  }

  ParameterArena& arena;
  Communicator& communicator;
  std::shared_ptr<GradientExchange> exchange;
  std::vector<Bucket> buckets;
  std::vector<const char*> labels;     // by bucket
  std::vector<bool> ready;             // by segment, in this pass
  std::vector<std::size_t> bucket_of;  // by segment
  std::vector<std::size_t> missing;    // by bucket: gradients that have not arrived in this pass
  std::vector<Work> works;
  std::size_t next = 0;  // the first bucket that has not left
  bool synchronize = true;
  int holders = 0;
  bool is_zeroed = false;   // for this pass, unless held
  bool is_begun = false;    // this pass: a gradient has arrived
  bool has_failed = false;  // the last pass
};

std::vector<GradientBuckets::Bucket> GradientBuckets::plan(const ParameterArena& arena,
                                                           BucketOptions options) {
  check({.buckets = options});
  const auto item = static_cast<std::int64_t>(size_of(arena.gradients().dtype()));
  const auto& segments = arena.segments();
  std::vector<Bucket> buckets;
  for (std::size_t s = 0; s < segments.size() && !segments[s].frozen; ++s) {
    // A segment's padding belongs to its bucket.
    const bool is_last = s + 1 == segments.size() || segments[s + 1].frozen;
    const std::int64_t end = is_last ? arena.trainable_size() : segments[s + 1].offset;
    const std::int64_t full = buckets.size() == 1 ? options.first_bucket_bytes : options.bucket_bytes;
    // A table of rows travels by itself: Note [Sparse rows].
    const bool is_alone = segments[s].sparse || (s > 0 && segments[s - 1].sparse);
    if (buckets.empty() || is_alone || (buckets.back().end - buckets.back().begin) * item >= full) {
      buckets.push_back({segments[s].offset, end, s, s + 1});
    } else {
      buckets.back().end = end;
      buckets.back().last_segment = s + 1;
    }
  }
  const std::int64_t extras_end = arena.size() + ParameterArena::kExtras;
  if (!buckets.empty() && arena.trainable_size() == arena.size()) {
    buckets.back().end = extras_end;
  } else {
    // Frozen parameters lie in between, or there is nothing to train.
    buckets.push_back({arena.size(), extras_end, segments.size(), segments.size()});
  }
  return buckets;
}

GradientBuckets::GradientBuckets(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                                 std::shared_ptr<GradientExchange> exchange)
    : state_(std::make_shared<State>(
          arena, communicator, options,
          exchange ? std::move(exchange) : make_exchange(arena, communicator, {.buckets = options}))) {
  for (const Bucket& bucket : state_->buckets) {
    for (std::size_t s = bucket.first_segment; s < bucket.last_segment; ++s) {
      Variable variable = arena.variable(s);
      variable.on_grad_ready([state = std::weak_ptr<State>(state_), s](const Variable&) {
        if (const auto alive = state.lock()) alive->on_ready(s);
      });
    }
  }
  arena.on_zero_gradients([state = std::weak_ptr<State>(state_)] {
    if (const auto alive = state.lock()) alive->on_zero();
  });
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::cut_anew(BucketOptions options, std::shared_ptr<GradientExchange> exchange) {
  require(state_->next == 0, "[distributed_optimizer] buckets cannot be cut anew within a pass");
  state_->cut(options, std::move(exchange));
}

void GradientBuckets::set_synchronize(bool synchronize) {
  state_->synchronize = synchronize;
}

void GradientBuckets::hold() {
  ++state_->holders;
}

void GradientBuckets::release() {
  --state_->holders;
}

void GradientBuckets::restart() {
  if (state_->is_begun || state_->has_failed) state_->begin_anew();
}

void GradientBuckets::abandon() {
  state_->has_failed = false;
  state_->end_pass();
}

void GradientBuckets::finish() {
  State& state = *state_;
  state.arena.complete_gradients();
  while (state.next < state.buckets.size()) state.launch_next();
  const TraceScope scope("wait", "wait for gradients");
  state.has_failed = true;
  if (const std::exception_ptr error = state.end_pass()) std::rethrow_exception(error);
  state.has_failed = false;
}

}  // namespace ronde::inline v0
