#include "shm/with_shared_memory.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <ronde/core/error.h>

#include "shm/hierarchical_transport.h"
#include "shm/open_node_group.h"
#include "transport/first_failure.h"

namespace ronde::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

// Sizes that are tried at start-up, until the time is up.
constexpr std::int64_t kSmallestTrial = 64 << 10, kLargestTrial = 4 << 20;
constexpr double kTrialSeconds = 0.02;
constexpr int kRepeats = 3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rank 0's, so that ranks whose environments differ do not part ways.
AllreducePath agree_on_path(Transport& base, AllreducePath own) {
  std::string error;
  auto path = static_cast<std::int64_t>(own);
  try {
    if (base.place().rank == 0 && own == AllreducePath::automatic)
      path = static_cast<std::int64_t>(allreduce_path_from_environment());
  } catch (const UsageError& wrong) {
    error = wrong.what();
  }
  error = first_failure(base, error);
  if (!error.empty()) throw CollectiveError(error, ExitStatus::usage, 0);
  base.broadcast(&path, sizeof path, 0);
  return static_cast<AllreducePath>(path);
}

// What to do without shared memory: go on, unless it was asked for.
std::unique_ptr<Transport> do_without(std::unique_ptr<Transport> base, AllreducePath path,
                                      const std::string& why_not) {
  if (path != AllreducePath::automatic) {
    throw CollectiveError(cat("RONDE_ALLREDUCE=", to_string(path), " is not possible: ", why_not),
                          ExitStatus::failure, 0);
  }
  base->add_note(cat("no shared memory: ", why_not));
  return base;
}

// Of a few attempts, the ranks starting together.
double time_of_allreduce(Transport& transport, void* data, std::int64_t bytes) {
  double best = std::numeric_limits<double>::max();
  for (int k = 0; k < kRepeats; ++k) {
    transport.meet(0);
    const auto start = Clock::now();
    transport.allreduce(data, bytes / static_cast<std::int64_t>(sizeof(float)), DType::f32, Reduction::sum);
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// At the largest size that fits into the time. Rank 0 holds the watch and decides.
bool is_faster(HierarchicalTransport& levels, Transport& flat) {
  std::shared_ptr<void> memory = levels.share(kLargestTrial);
  std::vector<char> own(memory ? 0 : static_cast<std::size_t>(kLargestTrial));
  void* data = memory ? memory.get() : own.data();
  const auto start = Clock::now();
  for (std::int64_t bytes = kSmallestTrial;; bytes *= 2) {
    const double over_levels = time_of_allreduce(levels, data, bytes);
    const double over_flat = time_of_allreduce(flat, data, bytes);
    const bool is_last = bytes >= kLargestTrial || seconds_since(start) > kTrialSeconds;
    char verdict[2] = {static_cast<char>(over_levels < over_flat), static_cast<char>(is_last)};
    flat.broadcast(verdict, sizeof verdict, 0);
    if (verdict[1]) return verdict[0];
  }
}

std::unique_ptr<Transport> over_one_node(std::unique_ptr<Transport> base, AllreducePath path,
                                         const SharedMemoryOptions& options) {
  std::string why_not;
  // Its operations run on a thread of its own, which is nobody's to disturb.
  std::unique_ptr<NodeGroup> group = open_node_group(*base, nullptr, why_not);
  if (!group) return do_without(std::move(base), path, why_not);
  return std::make_unique<NodeTransport>(std::move(group), base->name(), options.owner);
}

std::unique_ptr<Transport> over_nodes(std::unique_ptr<Transport> base, AllreducePath path,
                                      const SharedMemoryOptions& options) {
  const Place place = base->place();
  std::string why_not;
  const std::unique_ptr<Transport> part = base->split(place.cross_rank, place.local_rank);
  std::unique_ptr<NodeGroup> group = open_node_group(*part, options.idle, why_not);
  why_not = first_failure(*base, why_not);
  if (!why_not.empty()) return do_without(std::move(base), path, why_not);
  SharedMemoryOptions for_parts = options;
  for_parts.path = AllreducePath::hierarchical;
  Transport& flat = *base;
  auto levels = std::make_unique<HierarchicalTransport>(
      std::move(base), std::make_unique<NodeTransport>(std::move(group), flat.name(), options.owner),
      [for_parts](std::unique_ptr<Transport> of) { return with_shared_memory(std::move(of), for_parts); });
  if (path == AllreducePath::automatic && !is_faster(*levels, flat)) return levels->release_base();
  return levels;
}

}  // namespace

std::unique_ptr<Transport> with_shared_memory(std::unique_ptr<Transport> base, SharedMemoryOptions options) {
  const Place place = base->place();
  const AllreducePath path = agree_on_path(*base, options.path);
  if (path == AllreducePath::mpi || place.size == 1) return base;
  if (place.cross_size == 1) return over_one_node(std::move(base), path, options);
  if (path == AllreducePath::node) {
    throw CollectiveError(
        cat("RONDE_ALLREDUCE=node expects ranks on one node, but they are on ", place.cross_size),
        ExitStatus::usage, 0);
  }
  const bool has_neighbours = place.cross_size < place.size;
  if (!has_neighbours && path == AllreducePath::automatic) return base;
  return over_nodes(std::move(base), path, options);
}

}  // namespace ronde::inline v0
