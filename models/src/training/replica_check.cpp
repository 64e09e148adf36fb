#include "training/replica_check.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/cuda.h>
#include <ronde/core/trace.h>

#include "training/hash64.h"

namespace ronde::inline v0 {

namespace {

/// A piece of what is compared, by its name.
struct Piece {
  std::string name;
  Tensor values;
};

std::uint64_t hash_of(const Tensor& values, std::uint64_t seed) {
  const Tensor bytes = on_host(values);
  return hash64(bytes.raw(), bytes.byte_size(), seed);
}

/// Flat buffers, whole.
std::vector<Piece> buffers_of(const Model::State& model, bool with_statistics) {
  const ParameterArena& arena = *model.arena;
  std::vector<Piece> pieces{{"", arena.values().view(0, {arena.size()})}};
  if (with_statistics && arena.buffers().count() > 0) pieces.push_back({"", arena.buffers()});
  if (model.optimizer->state_agrees())
    for (const OptimizerSlot& slot : model.optimizer->optimizer().slots())
      pieces.push_back({slot.name + " of ", slot.values});
  return pieces;
}

void append_segments(const Tensor& flat, const std::string& what, const std::vector<Segment>& segments,
                     std::vector<Piece>& pieces) {
  for (const Segment& segment : segments)
    if (segment.offset + segment.count <= flat.count())  // frozen ones have no state
      pieces.push_back({what + segment.name, flat.view(segment.offset, {segment.count})});
}

/// The same, parameter by parameter.
std::vector<Piece> parameters_of(const Model::State& model, bool with_statistics) {
  const ParameterArena& arena = *model.arena;
  std::vector<Piece> pieces;
  for (const Piece& buffer : buffers_of(model, with_statistics)) {
    const bool is_statistics = with_statistics && buffer.values.raw() == arena.buffers().raw();
    append_segments(buffer.values, buffer.name, is_statistics ? arena.buffer_segments() : arena.segments(),
                    pieces);
  }
  return pieces;
}

/// Counters of the optimizer, as a seed.
std::uint64_t hash_of_counters(Optimizer& optimizer) {
  const std::uint64_t counters[2] = {static_cast<std::uint64_t>(optimizer.iterations()),
                                     std::bit_cast<std::uint64_t>(optimizer.learning_rate())};
  return hash64(counters, sizeof counters);
}

std::vector<std::uint64_t> gather(Communicator& communicator, const std::vector<std::uint64_t>& own) {
  const auto count = static_cast<std::int64_t>(own.size());
  const Tensor mine =
      Tensor::from<std::int64_t>({1, count}, std::vector<std::int64_t>(own.begin(), own.end()));
  const Tensor all = Tensor::empty({communicator.size(), count}, mine.options());
  communicator.allgather(all, mine).wait();
  const std::vector<std::int64_t> values = all.to_vector<std::int64_t>();
  return {values.begin(), values.end()};
}

/// The smallest of the hashes is the largest too: min(~h) = ~max(h).
bool all_equal(Communicator& communicator, std::uint64_t hash) {
  const auto h = static_cast<std::int64_t>(hash);
  const Tensor extremes = Tensor::from<std::int64_t>({2}, {h, ~h});
  communicator.allreduce(extremes, Reduction::min).wait();
  const auto values = extremes.to_vector<std::int64_t>();
  return values[0] == ~values[1];
}

/// Ranks whose hash is not the one that more than half of them have; empty when there is none such.
std::vector<int> odd_ranks(const std::vector<std::uint64_t>& hashes) {
  for (const std::uint64_t candidate : hashes) {
    if (2 * std::count(hashes.begin(), hashes.end(), candidate) <= std::ssize(hashes)) continue;
    std::vector<int> odd;
    for (std::size_t r = 0; r < hashes.size(); ++r)
      if (hashes[r] != candidate) odd.push_back(static_cast<int>(r));
    return odd;
  }
  return {};
}

// As they are in the world.
std::string list_of(const std::vector<int>& ranks, const Communicator& communicator) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += cat(i == 0 ? "" : ", ", communicator.world_rank(ranks[i]));
  return text;
}

/// The first piece in which `rank` has not what `other` has.
std::string first_difference(const std::vector<Piece>& pieces, const std::vector<std::uint64_t>& hashes,
                             int rank, int other) {
  const std::size_t count = pieces.size();
  for (std::size_t p = 0; p < count; ++p)
    if (hashes[static_cast<std::size_t>(rank) * count + p] !=
        hashes[static_cast<std::size_t>(other) * count + p])
      return pieces[p].name;
  return "the optimizer's count of steps or learning rate";
}

[[noreturn]] void throw_difference(Model::State& model, std::uint64_t hash, bool with_statistics) {
  Communicator& communicator = *model.communicator;
  const std::vector<std::uint64_t> hashes = gather(communicator, {hash});
  const std::vector<Piece> pieces = parameters_of(model, with_statistics);
  std::vector<std::uint64_t> own;
  for (const Piece& piece : pieces) own.push_back(hash_of(piece.values, 0));
  const std::vector<std::uint64_t> of_pieces = gather(communicator, own);

  const std::vector<int> odd = odd_ranks(hashes);
  int suspect = odd.empty() ? 0 : odd[0], other = 0;
  while (hashes[static_cast<std::size_t>(other)] == hashes[static_cast<std::size_t>(suspect)]) ++other;
  const std::string where = first_difference(pieces, of_pieces, suspect, other);
  const std::string steps = cat("after ", counted(model.progress.steps, "step"), " the replicas differ: ");
  if (odd.empty())
    throw CollectiveError(cat(steps, "ranks ", communicator.world_rank(std::min(suspect, other)), " and ",
                              communicator.world_rank(std::max(suspect, other)), " in ", where,
                              " (no majority tells which is wrong): go on from a checkpoint"),
                          ExitStatus::replicas_differ, communicator, std::max(suspect, other));
  const std::string who = list_of(odd, communicator);
  throw CollectiveError(cat(steps, who, odd.size() == 1 ? " has" : " have", " not what the other ",
                            communicator.size() - static_cast<int>(odd.size()), " have in ", where,
                            ": go on from a checkpoint, and suspect the machine of ", who),
                        ExitStatus::replicas_differ, communicator, suspect);
}

}  // namespace

void ReplicaCheck::after_step(std::int64_t steps) {
  if (every_ == 0 || model_.communicator->size() == 1) return;
  is_due_ = is_due_ || steps % every_ == 0;
  if (is_due_ && model_.optimizer->weights_agree()) compare(Scope::within_epoch);
}

void ReplicaCheck::after_epoch() {
  if (every_ > 0 && model_.communicator->size() > 1) compare(Scope::whole);
}

void ReplicaCheck::compare(Scope scope) {
  const TraceScope traced("wait", "compare replicas");
  is_due_ = false;
  const bool with_statistics = scope == Scope::whole;
  std::uint64_t hash = hash_of_counters(model_.optimizer->optimizer());
  for (const Piece& piece : buffers_of(model_, with_statistics)) hash = hash_of(piece.values, hash);
  if (!all_equal(*model_.communicator, hash)) throw_difference(model_, hash, with_statistics);
}

}  // namespace ronde::inline v0
