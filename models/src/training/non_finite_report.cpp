#include "training/non_finite_report.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/ops.h>

#include "training/train_step.h"

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kMostSamples = 5;  // that are named
constexpr const char* kSmallerRate = ": a smaller learning rate may help";

const char* describe(double value) {
  return std::isnan(value) ? "nan" : "infinite";
}

/// The first element that is not finite, in words; nullptr when there is none.
const char* non_finite_of(const Tensor& values) {
  for (const double value : values.to_vector<double>())
    if (!std::isfinite(value)) return describe(value);
  return nullptr;
}

/// Of a flat buffer of the arena: the segment whose values are not finite, the last in the order of the net
/// (`from_the_end`, as the backward pass meets them) or the first.
std::string find_segment(const ParameterArena& arena, const Tensor& flat, bool from_the_end) {
  std::vector<Segment> segments = arena.segments();  // in the order of the backward pass
  if (!from_the_end) std::reverse(segments.begin(), segments.end());
  for (const Segment& segment : segments) {
    if (from_the_end && segment.frozen) continue;
    if (const char* word = non_finite_of(flat.view(segment.offset, {segment.count})))
      return cat(segment.name, " is ", word);
  }
  return "";
}

/// Samples whose row of `rows` (n, ...) is not finite, by their places in the data set.
std::string find_samples(const Tensor& rows, const Tensor& sample_keys) {
  std::vector<std::string> names;
  std::size_t found = 0;
  const char* word = nullptr;
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const char* bad = non_finite_of(rows.slice(0, i, i + 1));
    if (bad == nullptr || ++found > kMostSamples) continue;
    if (word == nullptr) word = bad;
    names.push_back(std::to_string(sample_keys.slice(0, i, i + 1).to_vector<std::int64_t>()[0]));
  }
  if (found == 0) return "";
  if (found > 1 && found == static_cast<std::size_t>(rows.size(0)))
    return cat("all ", found, " samples is ", word, kSmallerRate);
  std::string text = cat(found == 1 ? "sample " : "samples ", names[0]);
  for (std::size_t i = 1; i < names.size(); ++i) text += cat(", ", names[i]);
  if (found > names.size()) text += cat(" and ", found - names.size(), " more");
  const bool is_most = 2 * found > static_cast<std::size_t>(rows.size(0)) && found > 1;
  return cat(text, found == 1 ? " is " : " are ", word, is_most ? kSmallerRate : "");
}

/// On this rank; empty when nothing is found.
std::string find_here(Model::State& model, const Batch& batch) {
  ParameterArena& arena = *model.arena;
  if (const std::string weights = find_segment(arena, arena.values(), false); !weights.empty())
    return cat("before this step already, the weight ", weights, kSmallerRate);
  if (batch.size() == 0 && !is_synchronized(model)) return "";
  const DistributedOptimizer::NoSync held_back(*model.optimizer);
  arena.zero_gradients();
  const EnableGrad enable_grad;
  const Context context = model.context(true, batch.sample_keys);
  const Variable outputs = (*model.module)(batch.inputs, context);
  const Variable losses = losses_of_samples(*model.loss, outputs, batch.targets, context.sum_over_ranks);
  const Variable total = sum(losses);
  total.backward();
  arena.complete_gradients();
  if (const std::string samples = find_samples(batch.inputs, batch.sample_keys); !samples.empty())
    return cat("the input of ", samples);
  if (const std::string samples = find_samples(losses.value(), batch.sample_keys); !samples.empty())
    return cat("the loss of ", samples);
  if (const char* word = non_finite_of(total.value()))
    return cat("the loss of each sample is finite, but their sum is ", word, kSmallerRate);
  const std::string gradient = find_segment(arena, arena.gradients(), true);
  if (gradient.empty()) return "";
  const bool is_too_large = gradient.ends_with(describe(INFINITY));
  return cat("the losses are finite, but the gradient of ", gradient, is_too_large ? kSmallerRate : "");
}

/// `found`: by each rank.
NonFiniteReport sum_up(const std::vector<std::string>& found, const Communicator& ranks) {
  NonFiniteReport report;
  int others = 0;
  for (std::size_t r = found.size(); r-- > 0;) {
    if (found[r].empty()) continue;
    others += !report.text.empty();
    const int rank = static_cast<int>(r);
    report = {rank, cat("rank ", ranks.world_rank(rank), ": ", found[r])};
  }
  if (others > 0) report.text += cat("; likewise on ", counted(others, "other rank"));
  if (report.text.empty())
    report.text =
        "no rank finds it again when it repeats its part of the step alone: rather the memory of a machine, "
        "or the way between two, than the data";
  return report;
}

}  // namespace

NonFiniteReport find_non_finite(Model::State& model, const Batch& batch) {
  return sum_up(allgather_strings(*model.communicator, find_here(model, batch)), *model.communicator);
}

NonFiniteReport find_own_non_finite(Model::State& model, const Batch& batch) {
  std::vector<std::string> found(static_cast<std::size_t>(model.communicator->size()));
  found[static_cast<std::size_t>(model.communicator->rank())] = find_here(model, batch);
  return sum_up(found, *model.communicator);
}

}  // namespace ronde::inline v0
