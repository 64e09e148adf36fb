/// Recurrent layers over all steps. Rows of a batch know nothing of each other, so each thread takes some of
/// them through all steps: nobody waits for another one between them, and the recurrent kernel, which is
/// packed once, stays in the thread's second level cache.
#pragma once

#include <algorithm>
#include <optional>

#include "backend/onednn/products.h"

namespace ronde::inline v0 {

/// A tensor (steps, n, values), of which each step is dense, numbered as they are taken.
struct RecurrentRows {
  float* first;
  std::int64_t values;
  std::int64_t pitch;  ///< from one step to the next

  RecurrentRows(const Tensor& t, RecurrentParams params)
      : first(t.data<float>()), values(t.size(2)), pitch(t.strides()[0]) {
    if (!params.backwards) return;
    first += (t.size(0) - 1) * pitch;
    pitch = -pitch;
  }
  float* at(std::int64_t step, std::int64_t row) const { return first + step * pitch + row * values; }
};

inline bool has_dense_steps(const Tensor& x) {
  return dense_floats(x.slice(0, 0, 1));
}

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

/// Rows that a thread takes at least: fewer wait for the recurrent kernel.
constexpr std::int64_t kLeastRecurrentRows = 4;

/// Whether threads do better by sharing each step's product: rows for half of them at most, and products that
/// are worth it. `work`: multiplications for a row in each step.
inline bool shares_steps(const ThreadPool& pool, std::int64_t n, std::int64_t work) {
  return 2 * ceil_divide(n, kLeastRecurrentRows) <= pool.size() && n * work >= 2 * kProductGrain;
}

/// Calls pass(row, rows) for the n rows of a batch, as many as are best at a time.
template <class Pass>
void for_recurrent_rows(const Pass& pass, std::int64_t n, std::int64_t work) {
  constexpr std::int64_t kMostRows = kProductStrip;  // what belongs to a step of them stays in the caches
  const std::int64_t grain = std::max(kLeastRecurrentRows, kProductGrain / (pass.steps * work));
  pass.backend.threads().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at_once = ceil_divide(end - begin, ceil_divide(end - begin, kMostRows));
    for (; begin < end; begin += at_once) pass(begin, std::min(at_once, end - begin));
  });
}

}  // namespace ronde::inline v0
