// Copies whose elements lie side by side along one axis in the source and along another in the result: one or
// the other would be read or written in strides, an element a cache line.
#include <algorithm>
#include <array>
#include <optional>

#include <ronde/core/whole_numbers.h>

#include "backend/cpu/strided.h"
#include "backend/onednn/backend.h"

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kLeastExtent = 8;  // of both axes
constexpr std::int64_t kColumns = 64;     // that a thread copies at least

// The axis along which x is dense, if it is long enough.
std::optional<int> dense_axis(const Tensor& x) {
  for (int i = x.rank() - 1; i >= 0; --i)
    if (x.strides()[i] == 1 && x.size(i) >= kLeastExtent) return i;
  return std::nullopt;
}

}  // namespace

bool OneDnnBackend::copy_transposed(const Tensor& out, const Tensor& x) {
  if (out.dtype() != DType::f32 || x.dtype() != DType::f32 || out.shape() != x.shape()) return false;
  const std::optional<int> along = dense_axis(out), across = dense_axis(x);
  if (!along || !across || *along == *across) return false;
  Shape outer = out.shape();
  outer[*along] = outer[*across] = 1;
  const StridedLoop loop(outer, std::array{out.strides(), x.strides()});
  const std::int64_t rows = out.size(*along), columns = out.size(*across), to_pitch = out.strides()[*across],
                     from_pitch = x.strides()[*along];
  const std::int64_t parts = ceil_divide(columns, kColumns);
  const std::int64_t grain = std::max<std::int64_t>(kElementGrain / (rows * std::min(columns, kColumns)), 1);
  threads().parallel_for(loop.count() * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % parts * kColumns;
      loop.for_each_run(i / parts, i / parts + 1, [&](const StridedLoop::Offsets& at, std::int64_t) {
        kernels_.copy_transposed(out.data<float>() + at[0] + first * to_pitch, to_pitch,
                                 x.data<float>() + at[1] + first, from_pitch, rows,
                                 std::min(kColumns, columns - first));
      });
    }
  });
  return true;
}

}  // namespace ronde::inline v0
