#include <ronde/distributed/gradient_buckets.h>

namespace ronde::inline v0 {

// Note [Bucket order]: the arena lists parameters in reverse order of execution, about the order in which
// backward finishes them, and buckets are cut from it front to back: a small first one, then larger ones.
// Bucket k leaves only after bucket k - 1, whatever order gradients arrive in, so the ranks start the same
// collectives in the same order although control flow may differ between them. Parameters that a rank did not
// use hold up their bucket, and those behind it, until `finish`.

struct GradientBuckets::State {
  State(ParameterArena& arena_in, Communicator& communicator_in, BucketOptions options)
      : arena(arena_in),
        communicator(communicator_in),
        buckets(plan(arena_in, options)),
        ready(arena_in.segments().size(), false),
        missing(buckets.size(), 0) {}

  void begin_pass() {
    next = 0;
    works.clear();
    ready.assign(ready.size(), false);
    for (std::size_t b = 0; b < buckets.size(); ++b)
      missing[b] = buckets[b].last_segment - buckets[b].first_segment;
  }

  void launch_next() {
    const Bucket& bucket = buckets[next];
    works.push_back(communicator.allreduce(arena.gradients().view(bucket.begin, {bucket.end - bucket.begin}),
                                           Reduction::sum));
    ++next;
  }

  void on_ready(std::size_t segment, std::size_t bucket) {
    if (!synchronise) return;
    require(
        bucket >= next, "[distributed_optimizer] ", arena.segments()[segment].name,
        " got another gradient after its sum over the ranks had started: hold a NoSync during all backward "
        "passes but the last one before step()");
    if (ready[segment]) return;
    ready[segment] = true;
    --missing[bucket];
    // The last bucket carries the extras, which are known in `finish` only.
    while (next + 1 < buckets.size() && missing[next] == 0) launch_next();
  }

  ParameterArena& arena;
  Communicator& communicator;
  const std::vector<Bucket> buckets;
  std::vector<bool> ready;           // by segment, in this pass
  std::vector<std::size_t> missing;  // by bucket: gradients that have not arrived in this pass
  std::vector<Work> works;
  std::size_t next = 0;  // the first bucket that has not left
  bool synchronise = true;
};

std::vector<GradientBuckets::Bucket> GradientBuckets::plan(const ParameterArena& arena,
                                                           BucketOptions options) {
  require<UsageError>(options.first_bucket_bytes > 0 && options.bucket_bytes > 0,
                      "[distributed_optimizer] bucket sizes must be positive, got ",
                      options.first_bucket_bytes, " and ", options.bucket_bytes);
  const auto item = static_cast<std::int64_t>(size_of(arena.gradients().dtype()));
  const auto& segments = arena.segments();
  std::vector<Bucket> buckets;
  for (std::size_t s = 0; s < segments.size() && !segments[s].frozen; ++s) {
    // A segment's padding belongs to its bucket.
    const bool is_last = s + 1 == segments.size() || segments[s + 1].frozen;
    const std::int64_t end = is_last ? arena.trainable_size() : segments[s + 1].offset;
    const std::int64_t limit = buckets.size() == 1 ? options.first_bucket_bytes : options.bucket_bytes;
    if (buckets.empty() || (end - buckets.back().begin) * item > limit) {
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

GradientBuckets::GradientBuckets(ParameterArena& arena, Communicator& communicator, BucketOptions options)
    : state_(std::make_shared<State>(arena, communicator, options)) {
  state_->begin_pass();
  for (std::size_t b = 0; b < state_->buckets.size(); ++b) {
    for (std::size_t s = state_->buckets[b].first_segment; s < state_->buckets[b].last_segment; ++s) {
      Variable variable = arena.variable(s);
      variable.on_grad_ready([state = std::weak_ptr<State>(state_), s, b](const Variable&) {
        if (const auto alive = state.lock()) alive->on_ready(s, b);
      });
    }
  }
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::set_synchronise(bool synchronise) {
  state_->synchronise = synchronise;
}

bool GradientBuckets::synchronise() const {
  return state_->synchronise;
}

void GradientBuckets::finish() {
  State& state = *state_;
  state.arena.complete_gradients();
  while (state.next < state.buckets.size()) state.launch_next();
  const std::vector<Work> works = std::move(state.works);
  state.begin_pass();
  for (const Work& work : works) work.wait();
}

}  // namespace ronde::inline v0
