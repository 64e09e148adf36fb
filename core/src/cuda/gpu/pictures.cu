// Pictures of a table, scaled and changed: each output pixel is found by going the steps backwards, so none
// is written twice. Compiled without fused multiply-adds: the bits are those of the CPU.
#include <ronde/core/scaled.h>

#include "cuda/gpu/row_grid.cuh"
#include "pictures/taps.h"

namespace ronde::inline v0::cuda {

namespace {

/// A batch of pictures (n, h, w, c), and where its numbers are.
struct Batch {
  int n, h, w, c;
  Index table_rows;
  const int* indices;  ///< nullptr: in order
  const double* numbers;
  int numbers_step;  ///< from one picture to the next
  int steps_before;  ///< the move is the step with this index; `steps.count`: there is none
  PictureSteps steps;
};

struct Place2d {
  int y, x;
};

template <class T>
__device__ T changed_by(const PictureStep& step, const double* numbers, const Batch& b, Place2d at,
                        int channel, T value) {
  const double* own = numbers + step.first;
  if (step.kind == PictureStep::Kind::multiply)
    return multiplied(value, static_cast<T>(own[0]), static_cast<T>(own[1]), static_cast<T>(own[2]));
  if (step.kind == PictureStep::Kind::normalize)
    return normalized(value, static_cast<T>(own[channel]), static_cast<T>(own[b.c + channel]));
  const bool is_covered = at.y >= own[0] && at.y < own[1] && at.x >= own[2] && at.x < own[3];
  return is_covered ? static_cast<T>(own[4]) : value;
}

template <class T>
__device__ T changed(int first, int end, const double* numbers, const Batch& b, Place2d at, int channel,
                     T value) {
  for (int i = first; i < end; ++i)
    value = changed_by(b.steps.steps[static_cast<std::size_t>(i)], numbers, b, at, channel, value);
  return value;
}

/// A stored picture, with the steps before the move.
template <class T, class From>
struct Stored {
  const Batch& b;
  const From* pixels;
  const double* numbers;
  ScaledIn<T, From> scale, offset;

  __device__ T operator()(Index y, Index x, int channel) const {
    const T value = scaled<T>(pixels[(y * b.w + x) * b.c + channel], scale, offset);
    const Place2d at{static_cast<int>(y), static_cast<int>(x)};
    return changed<T>(0, b.steps_before, numbers, b, at, channel, value);
  }
};

template <class T>
struct Taps {
  Tap<T> row, column;
};

template <class T>
__device__ Taps<T> taps_of(const AffineMap& centred, const Batch& b, FillMode fill, Place2d at) {
  const AffineMap map = from_corner(centred, b.h, b.w);
  const Position row = is_separable(map) ? Axis(map.yy, map.y0, b.h).at(at.y) : row_of(map, at.y, at.x);
  const Position column = is_separable(map) ? Axis(map.xx, map.x0, b.w).at(at.x) : column_of(map, at.y, at.x);
  return {tap_at<T>(row, b.h, fill), tap_at<T>(column, b.w, fill)};
}

template <class T, class Picture>
__device__ T down(const Picture& picture, const Tap<T>& row, Index x, int channel) {
  const T upper = picture(row.from, x, channel);
  return row.weight == 0 ? upper : mix(upper, picture(row.to, x, channel), row.weight);
}

template <class T, class Picture>
__device__ T looked_up(const Picture& picture, const Taps<T>& taps, T fill, int channel) {
  if (taps.row.from < 0 || taps.column.from < 0) return fill;
  const T left = down(picture, taps.row, taps.column.from, channel);
  if (taps.column.weight == 0) return left;
  return mix(left, down(picture, taps.row, taps.column.to, channel), taps.column.weight);
}

template <class T, class From>
__global__ void change_kernel(Batch b, T* out, const From* table, ScaledIn<T, From> scale,
                              ScaledIn<T, From> offset, Complaint* complaint) {
  begin_kernel();
  const Index size = static_cast<Index>(b.h) * b.w * b.c;
  for_each_in_rows(b.n, b.h * b.w, [&](int i, int pixel) {
    const Index row = b.indices ? b.indices[i] : i;
    T* to = out + i * size + static_cast<Index>(pixel) * b.c;
    if (row < 0 || row >= b.table_rows) {
      complain(complaint, Op::change_pictures, row, i, b.table_rows);
      for (int channel = 0; channel < b.c; ++channel) to[channel] = 0;
      return;
    }
    const double* numbers = b.numbers + static_cast<Index>(i) * b.numbers_step;
    const Stored<T, From> picture{b, table + row * size, numbers, scale, offset};
    const Place2d at{pixel / b.w, pixel % b.w};
    Taps<T> taps{{at.y, at.y, 0}, {at.x, at.x, 0}};
    T fill = 0;
    if (b.steps_before < b.steps.count) {
      const PictureStep& move = b.steps.steps[static_cast<std::size_t>(b.steps_before)];
      taps = taps_of<T>(map_of(numbers + move.first), b, move.fill, at);
      fill = static_cast<T>(fill_value_of(numbers + move.first));
    }
    for (int channel = 0; channel < b.c; ++channel)
      to[channel] = changed<T>(b.steps_before + 1, b.steps.count, numbers, b, at, channel,
                               looked_up<T>(picture, taps, fill, channel));
  });
}

Batch batch_of(const Call& call) {
  const Operand &out = call[0], &table = call[1], &indices = call[2], &numbers = call[3];
  const PictureSteps& steps = call.attributes.pictures.steps;
  Batch b{.n = static_cast<int>(out.shape[0]),
          .h = static_cast<int>(out.shape[1]),
          .w = static_cast<int>(out.shape[2]),
          .c = static_cast<int>(out.shape[3]),
          .table_rows = table.shape[0],
          .indices = indices.defined ? data<const int>(indices) : nullptr,
          .numbers = data<const double>(numbers),
          .numbers_step = numbers.shape[0] == 1 ? 0 : steps.numbers,
          .steps_before = steps.count,
          .steps = steps};
  for (int i = steps.count - 1; i >= 0; --i)
    if (steps.steps[static_cast<std::size_t>(i)].kind == PictureStep::Kind::move) b.steps_before = i;
  return b;
}

}  // namespace

void run_pictures(const Call& call, const Place& place) {
  const Operand &out = call[0], &table = call[1];
  if (out.count() == 0) return;
  const RowGrid grid = row_grid(out.shape[0], out.shape[1] * out.shape[2]);
  const Batch batch = batch_of(call);
  const PictureParams& params = call.attributes.pictures;
  with_single_or_double(out.dtype, [&]<class T>(T) {
    with_stored(table.dtype, [&]<class From>(From) {
      using Wide = ScaledIn<T, From>;
      launch(change_kernel<T, From>, grid.blocks, grid.threads, native(place.stream), batch, data<T>(out),
             data<const From>(table), static_cast<Wide>(params.scale), static_cast<Wide>(params.offset),
             place.complaint);
    });
  });
}

}  // namespace ronde::inline v0::cuda
