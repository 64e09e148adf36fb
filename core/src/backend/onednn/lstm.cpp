// LSTM over all steps. Rows of a batch know nothing of each other, so each thread takes some of them through
// all steps: nobody waits for another one between them, and the recurrent kernel, which is packed once, stays
// in the thread's second level cache.
#include <algorithm>
#include <optional>

#include "backend/onednn/backend.h"
#include "backend/onednn/packed_operand.h"
#include "backend/onednn/products.h"

namespace ronde::inline v0 {

namespace {

// Rows that go through all steps together, at most: what belongs to a step of them stays in the caches.
constexpr std::int64_t kRowsAtOnce = kProductStrip;
// Fewer rows wait for the recurrent kernel.
constexpr std::int64_t kLeastRows = 4;

// A tensor (steps, n, values), whose steps are numbered as they are taken.
struct LstmRows {
  float* first;
  std::int64_t n, values;
  std::int64_t pitch;  // from one step to the next

  LstmRows(const Tensor& t, LstmParams params)
      : first(t.data<float>()), n(t.size(1)), values(t.size(2)), pitch(n * values) {
    if (!params.backwards) return;
    first += (t.size(0) - 1) * pitch;
    pitch = -pitch;
  }
  float* at(std::int64_t step, std::int64_t row) const { return first + step * pitch + row * values; }
};

// The same of a mask (steps, n), which may be undefined.
struct LstmMaskRows {
  std::optional<LstmRows> counts;

  LstmMaskRows(const Tensor& mask, LstmParams params) {
    if (mask.defined()) counts.emplace(mask.reshape({mask.size(0), mask.size(1), 1}), params);
  }
  const float* at(std::int64_t step, std::int64_t row) const {
    return counts ? counts->at(step, row) : nullptr;
  }
};

struct LstmForward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  LstmRows states, memories, gates, x;
  LstmMaskRows mask;
  const PackedOperand& recurrent;

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch), product(backend, rows * recurrent.columns());
    const Scratch<float> start(backend, rows * units);  // state and memory in front of the first step
    std::fill_n(product.data(), rows * recurrent.columns(), 0.0f);
    std::fill_n(start.data(), rows * units, 0.0f);
    for (std::int64_t t = 0; t < steps; ++t) {
      if (t > 0) recurrent.multiply(product.data(), states.at(t - 1, row), rows, scratch.data());
      kernels.lstm_step({.state = states.at(t, row),
                         .memory = memories.at(t, row),
                         .gates = gates.at(t, row),
                         .x = x.at(t, row),
                         .product = product.data(),
                         .state_before = t > 0 ? states.at(t - 1, row) : start.data(),
                         .memory_before = t > 0 ? memories.at(t - 1, row) : start.data(),
                         .mask = mask.at(t, row),
                         .pitch = recurrent.columns()},
                        rows, units);
    }
  }
};

struct LstmBackward {
  Backend& backend;
  const Kernels& kernels;
  std::int64_t steps, units;
  LstmRows grad_x, grad_states, memories, gates;
  LstmMaskRows mask;
  const PackedOperand& recurrent;  // transposed

  void operator()(std::int64_t row, std::int64_t rows) const {
    const Scratch<float> scratch(backend, kProductScratch), later(backend, rows * recurrent.columns());
    const Scratch<float> start(backend, rows * units), grad_memory(backend, rows * units);
    const Scratch<float> past(backend, mask.counts ? rows * units : 0);
    std::fill_n(later.data(), rows * recurrent.columns(), 0.0f);
    std::fill_n(start.data(), rows * units, 0.0f);
    std::fill_n(grad_memory.data(), rows * units, 0.0f);
    for (std::int64_t t = steps; t-- > 0;) {
      kernels.lstm_step_backward({.grad_x = grad_x.at(t, row),
                                  .grad_memory = grad_memory.data(),
                                  .grad_later = later.data(),
                                  .grad_state = grad_states.at(t, row),
                                  .gates = gates.at(t, row),
                                  .memory = memories.at(t, row),
                                  .memory_before = t > 0 ? memories.at(t - 1, row) : start.data(),
                                  .mask = mask.at(t, row),
                                  .pitch = recurrent.columns()},
                                 rows, units);
      if (t == 0) return;
      copy_left_out(past.data(), units, later.data(), recurrent.columns(), mask.at(t, row), rows);
      recurrent.multiply(later.data(), grad_x.at(t, row), rows, scratch.data());
      copy_left_out(later.data(), recurrent.columns(), past.data(), units, mask.at(t, row), rows);
    }
  }

 private:
  // Rows that a step leaves out.
  void copy_left_out(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                     const float* counts, std::int64_t rows) const {
    for (std::int64_t r = 0; counts && r < rows; ++r)
      if (counts[r] == 0) std::copy_n(from + r * from_pitch, units, to + r * to_pitch);
  }
};

// Calls `pass` for the rows of a batch, as many as are best at a time.
template <class Pass>
void for_lstm_rows(const Pass& pass, std::int64_t n) {
  const std::int64_t work_of_row = pass.steps * 4 * pass.units * pass.units;
  const std::int64_t grain = std::max(kLeastRows, kProductGrain / work_of_row);
  pass.backend.threads().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += kRowsAtOnce) pass(begin, std::min(kRowsAtOnce, end - begin));
  });
}

}  // namespace

void OneDnnBackend::lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
                         const Tensor& recurrent_kernel, const Tensor& mask, LstmParams params) {
  if (!dense_floats(states, memories, gates, x, recurrent_kernel) || !dense_or_missing(mask) ||
      states.count() == 0)
    return Backend::lstm(states, memories, gates, x, recurrent_kernel, mask, params);
  const std::int64_t steps = states.size(0), n = states.size(1), units = states.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), units, 4 * units, false);
  for_lstm_rows(LstmForward{*this,
                            kernels_,
                            steps,
                            units,
                            {states, params},
                            {memories, params},
                            {gates, params},
                            {x, params},
                            {mask, params},
                            recurrent},
                n);
}

void OneDnnBackend::lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                                  const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                                  LstmParams params) {
  if (!dense_floats(grad_x, grad_states, memories, gates, recurrent_kernel) || !dense_or_missing(mask) ||
      grad_states.count() == 0)
    return Backend::lstm_backward(grad_x, grad_states, memories, gates, recurrent_kernel, mask, params);
  const std::int64_t steps = memories.size(0), n = memories.size(1), units = memories.size(2);
  const PackedOperand recurrent(*this, kernels_, recurrent_kernel.data<float>(), 4 * units, units, true);
  for_lstm_rows(LstmBackward{*this,
                             kernels_,
                             steps,
                             units,
                             {grad_x, params},
                             {grad_states, params},
                             {memories, params},
                             {gates, params},
                             {mask, params},
                             recurrent},
                n);
}

}  // namespace ronde::inline v0
