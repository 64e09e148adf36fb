#include "plan.h"

#include <algorithm>
#include <type_traits>

#include "collectives/exact_text.h"

namespace ronde::inline v0 {
namespace {

std::string text_of(const ConfigValue& value);

template <class T>
std::string text_of_alternative(const T& value) {
  std::string text;
  if constexpr (std::is_same_v<T, std::monostate>) {
    text = "null";
  } else if constexpr (std::is_same_v<T, ConfigList>) {
    for (const ConfigValue& item : value) text += cat(text.empty() ? "" : ", ", text_of(item));
    text = cat('[', text, ']');
  } else if constexpr (std::is_same_v<T, ConfigDict>) {
    for (const auto& [key, item] : value) text += cat(text.empty() ? "" : ", ", key, ": ", text_of(item));
    text = cat('{', text, '}');
  } else if constexpr (std::is_same_v<T, double>) {
    text = exact_text(value);
  } else {
    text = cat(value);
  }
  return text;
}

std::string text_of(const ConfigValue& value) {
  return std::visit([](const auto& v) { return text_of_alternative(v); }, value.storage());
}

std::string penalty_text(const Segment& segment) {
  return segment.regularizer.is_none() ? "" : cat(", penalty ", text_of(segment.regularizer.config()));
}

// One line each.
std::vector<std::string> arena_lines(const ParameterArena& arena) {
  std::vector<std::string> lines;
  const DType dtype = arena.values().dtype();
  for (const Segment& segment : arena.segments())
    lines.push_back(cat(segment.name, ' ', segment.shape, ' ', dtype, segment.frozen ? ", frozen" : "",
                        penalty_text(segment)));
  for (const Segment& segment : arena.buffer_segments())
    lines.push_back(cat(segment.name, ' ', segment.shape, ' ', dtype));
  return lines;
}

// Parameters first, because a user knows them best.
std::vector<std::string> plan_lines(const ParameterArena& arena, const Optimizer& optimizer,
                                    const DistributedOptions& options) {
  std::vector<std::string> lines = arena_lines(arena);
  lines.push_back(cat("optimizer ", optimizer.name()));
  for (const auto& [key, value] : settings_of(optimizer))
    lines.push_back(cat("optimizer's ", key, ": ", text_of(value)));
  lines.push_back(cat("exchange: ", to_string(options)));
  std::string ends;
  for (const auto& bucket : GradientBuckets::plan(arena, options.buckets))
    ends += cat(ends.empty() ? "" : ", ", bucket.end);
  lines.push_back(cat("buckets ending at ", ends));
  return lines;
}

// Each of which has an end.
std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  return lines;
}

std::string difference(const std::string& problem, const std::string& plan0, int rank0,
                       const std::string& plan, int rank) {
  const std::vector<std::string> ours = split_lines(plan);
  const std::vector<std::string> theirs = split_lines(plan0);
  const auto [a, b] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  return cat(problem, ": rank ", rank, " has ", a == ours.end() ? "nothing" : *a, ", rank ", rank0, " has ",
             b == theirs.end() ? "nothing" : *b);
}

// `problem`: that the ranks' lines differ.
void compare(const std::vector<std::string>& lines, const std::string& problem, Communicator& communicator) {
  std::string plan;
  for (const std::string& line : lines) plan += line + '\n';
  const bool is_equal = broadcast_string(communicator, plan) == plan;
  std::vector<double> equal_ranks{is_equal ? 1.0 : 0.0};
  allreduce_values(communicator, equal_ranks);
  if (static_cast<int>(equal_ranks[0]) == communicator.size()) return;
  const std::vector<std::string> plans = allgather_strings(communicator, plan);
  const auto other =
      std::find_if(plans.begin(), plans.end(), [&](const std::string& p) { return p != plans.front(); });
  const int rank = static_cast<int>(other - plans.begin());
  throw CollectiveError(
      difference(problem, plans.front(), communicator.world_rank(0), *other, communicator.world_rank(rank)),
      ExitStatus::failure, communicator, rank);
}

}  // namespace

void compare_plans(const ParameterArena& arena, const Optimizer& optimizer, const DistributedOptions& options,
                   Communicator& communicator) {
  compare(plan_lines(arena, optimizer, options), "[distributed_optimizer] ranks have different plans",
          communicator);
}

void compare_layouts(const ParameterArena& arena, const std::string& who, Communicator& communicator) {
  if (communicator.size() == 1) return;
  compare(arena_lines(arena), cat('[', who, "] ranks have different parameters"), communicator);
}

}  // namespace ronde::inline v0
