/// Recurrent layers over all steps. Rows of a batch know nothing of each other, so each thread takes some of
/// them through all steps: nobody waits for another one between them, and the recurrent kernel, which is
/// packed once, stays in the thread's second level cache.
#pragma once

#include <algorithm>
#include <optional>

#include "backend/onednn/products.h"

namespace ronde::inline v0 {

/// A tensor (steps, n, values), whose steps are numbered as they are taken.
struct RecurrentRows {
  float* first;
  std::int64_t values;
  std::int64_t pitch;  ///< from one step to the next

  RecurrentRows(const Tensor& t, RecurrentParams params)
      : first(t.data<float>()), values(t.size(2)), pitch(t.size(1) * values) {
    if (!params.backwards) return;
    first += (t.size(0) - 1) * pitch;
    pitch = -pitch;
  }
  float* at(std::int64_t step, std::int64_t row) const { return first + step * pitch + row * values; }
};

/// The same of a mask (steps, n), which may be undefined.
struct RecurrentMask {
  std::optional<RecurrentRows> counts;

  RecurrentMask(const Tensor& mask, RecurrentParams params) {
    if (mask.defined()) counts.emplace(mask.reshape({mask.size(0), mask.size(1), 1}), params);
  }
  const float* at(std::int64_t step, std::int64_t row) const {
    return counts ? counts->at(step, row) : nullptr;
  }
};

/// Calls pass(row, rows) for the n rows of a batch, as many as are best at a time; `work`: multiplications
/// for a row in each of pass.steps.
template <class Pass>
void for_recurrent_rows(const Pass& pass, std::int64_t n, std::int64_t work) {
  constexpr std::int64_t kRowsAtOnce = kProductStrip;  // what belongs to a step of them stays in the caches
  constexpr std::int64_t kLeastRows = 4;               // fewer wait for the recurrent kernel
  const std::int64_t grain = std::max(kLeastRows, kProductGrain / (pass.steps * work));
  pass.backend.threads().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += kRowsAtOnce) pass(begin, std::min(kRowsAtOnce, end - begin));
  });
}

}  // namespace ronde::inline v0
