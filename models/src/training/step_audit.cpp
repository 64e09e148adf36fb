#include "training/step_audit.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/cuda.h>
#include <ronde/core/trace.h>

namespace ronde::inline v0 {

namespace {

/// Of a segment: "dense/kernel (element 17: 0.5, then 0.25)"; empty when both have the same bits.
std::string difference(const Segment& segment, const Tensor& first, const Tensor& second) {
  const Tensor a = on_host(first.view(segment.offset, {segment.count}));
  const Tensor b = on_host(second.view(segment.offset, {segment.count}));
  const auto* of_a = static_cast<const char*>(a.raw());
  const auto* of_b = static_cast<const char*>(b.raw());
  if (std::memcmp(of_a, of_b, a.byte_size()) == 0) return "";
  const auto at = static_cast<std::int64_t>(std::mismatch(of_a, of_a + a.byte_size(), of_b).first - of_a) /
                  static_cast<std::int64_t>(size_of(a.dtype()));
  const auto value = [at](const Tensor& values) {
    return values.slice(0, at, at + 1).to_vector<double>()[0];
  };
  return cat(segment.name, " (element ", at, ": ", value(a), ", then ", value(b), ")");
}

/// Of numbers that may be NaN.
bool have_equal_bits(const RunningTotals::Mark& a, const RunningTotals::Mark& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
  });
}

}  // namespace

void StepAudit::begin(std::int64_t step, std::int64_t batches) {
  step_ = step;
  if (audited_ < 0) audited_ = step - 1;
  is_due_ = every_ > 0 && batches == 0 && step / every_ > audited_ / every_;
  if (is_due_) audited_ = step;
}

void StepAudit::run(RunningTotals& totals, const std::function<void()>& compute) {
  if (!is_due_) return compute();
  const TraceScope traced("audit", "step computed twice");
  ParameterArena& arena = *model_.arena;
  const RunningTotals::Mark start = totals.mark();
  const Tensor statistics_before = arena.buffers().clone();
  compute();
  arena.complete_gradients();
  const Tensor gradients = arena.gradients().clone(), statistics = arena.buffers().clone();
  const RunningTotals::Mark sums = totals.mark();

  arena.zero_gradients();
  if (statistics.count() > 0) arena.buffers().copy_from(statistics_before);
  totals.return_to(start);
  compute();
  arena.complete_gradients();
  std::string found = compare(gradients, statistics);
  if (found.empty() && !have_equal_bits(sums, totals.mark())) found = "the loss or a metric";
  if (found_.empty()) found_ = std::move(found);
}

/// The parameter nearest to the loss comes first: what is wrong there spoils those behind it.
std::string StepAudit::compare(const Tensor& gradients, const Tensor& statistics) const {
  const ParameterArena& arena = *model_.arena;
  for (const Segment& segment : arena.segments()) {
    if (segment.frozen) continue;
    if (const std::string found = difference(segment, gradients, arena.gradients()); !found.empty())
      return "the gradient of " + found;
  }
  for (const Segment& segment : arena.buffer_segments())
    if (std::string found = difference(segment, statistics, arena.buffers()); !found.empty()) return found;
  return "";
}

void StepAudit::agree() {
  if (!is_due_) return;
  const std::vector<std::string> all = allgather_strings(*model_.communicator, std::exchange(found_, {}));
  const auto bad =
      std::find_if(all.begin(), all.end(), [](const std::string& text) { return !text.empty(); });
  if (bad == all.end()) return;
  const auto others =
      std::count_if(bad + 1, all.end(), [](const std::string& text) { return !text.empty(); });
  const auto rank = static_cast<int>(bad - all.begin());
  const int in_world = model_.communicator->world_rank(rank);
  throw CollectiveError(
      cat("[fit] step ", step_, ": rank ", in_world, " has computed its part twice, and got other bits in ",
          *bad, others > 0 ? cat(", and ", counted(others, "other rank"), " likewise") : std::string(),
          ": go on from a checkpoint, and suspect the machine of rank ", in_world),
      ExitStatus::replicas_differ, *model_.communicator, rank);
}

}  // namespace ronde::inline v0
