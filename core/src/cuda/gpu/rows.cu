// Rows of a table, chosen by indices.
#include <algorithm>

#include <ronde/core/scaled.h>

#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
struct AsItIs {
  static constexpr Op kOp = Op::gather_rows;
  __device__ T operator()(T value) const { return value; }
};

template <class T, class From>
struct Scaled {
  static constexpr Op kOp = Op::gather_scaled;
  ScaledIn<T, From> scale, offset;
  __device__ T operator()(From value) const { return scaled<T>(value, scale, offset); }
};

template <class T, class From, class Convert>
__global__ void gather_kernel(Index n, Index width, Index rows, T* out, const From* table, const int* indices,
                              Convert convert, Complaint* complaint) {
  begin_kernel();
  for (Index i = first_element(); i < n * width; i += element_step()) {
    const Index row = indices[i / width];
    if (row < 0 || row >= rows) {
      complain(complaint, Convert::kOp, row, i / width, rows);
      out[i] = rounded<T>(0.0f);
    } else {
      out[i] = convert(table[row * width + i % width]);
    }
  }
}

void run_gather_scaled(const Call& call, const Place& place) {
  const Operand &out = call[0], &table = call[1], &indices = call[2];
  const Index n = indices.count(), width = table.shape[1];
  if (n == 0 || width == 0) return;
  with_single_or_double(out.dtype, [&]<class T>(T) {
    with_stored(table.dtype, [&]<class From>(From) {
      using Wide = ScaledIn<T, From>;
      const Scaled<T, From> convert{static_cast<Wide>(call.attributes.value),
                                    static_cast<Wide>(call.attributes.offset)};
      launch(gather_kernel<T, From, Scaled<T, From>>, blocks_for(n * width), kThreads, native(place.stream),
             n, width, table.shape[0], data<T>(out), data<const From>(table), data<int>(indices), convert,
             place.complaint);
    });
  });
}

// A warp owns the rows that leave its own number when divided by that of the warps, and its lanes own
// columns: so a row's terms are added in their order, whatever the warps' is. Each warp looks through all
// indices, 32 at once.
template <class T>
__global__ void scatter_add_kernel(Index n, Index width, Index rows, T* table, const T* x, const int* indices,
                                   Complaint* complaint) {
  begin_kernel();
  const unsigned lane = threadIdx.x % kWarp, warps = gridDim.x * (blockDim.x / kWarp);
  const unsigned me = static_cast<unsigned>(first_element() / kWarp);
  for (Index first = 0; first < n; first += kWarp) {
    const Index i = first + lane;
    const bool is_there = i < n;
    const int row = is_there ? indices[i] : 0;
    const bool is_wrong = row < 0 || row >= rows;
    if (is_wrong && me == 0) complain(complaint, Op::scatter_add_rows, row, i, rows);
    unsigned own =
        __ballot_sync(kAllLanes, is_there && !is_wrong && static_cast<unsigned>(row) % warps == me);
    for (; own != 0; own &= own - 1) {
      const Index from = first + __ffs(static_cast<int>(own)) - 1, to = indices[from];
      for (Index column = lane; column < width; column += kWarp)
        table[to * width + column] += x[from * width + column];
    }
  }
}

// A warp for each row that may occur, but not so many that looking through the indices is most of the work.
unsigned scatter_blocks(Index n, Index rows) {
  constexpr Index kMostBlocks = 256;
  return static_cast<unsigned>(std::min<Index>(blocks_for(std::min(n, rows) * kWarp), kMostBlocks));
}

}  // namespace

void run_rows(const Call& call, const Place& place) {
  if (call.op == Op::gather_scaled) return run_gather_scaled(call, place);
  const bool gathers = call.op == Op::gather_rows;
  const Operand &table = gathers ? call[1] : call[0], &flat = gathers ? call[0] : call[1], &indices = call[2];
  const Index n = indices.count(), width = table.shape[1], rows = table.shape[0];
  if (n == 0 || width == 0) return;
  const cudaStream_t stream = native(place.stream);
  if (gathers)
    with_real(table.dtype, [&]<class T>(T) {
      launch(gather_kernel<T, T, AsItIs<T>>, blocks_for(n * width), kThreads, stream, n, width, rows,
             data<T>(flat), data<const T>(table), data<int>(indices), AsItIs<T>{}, place.complaint);
    });
  else
    with_single_or_double(table.dtype, [&]<class T>(T) {
      launch(scatter_add_kernel<T>, scatter_blocks(n, rows), kThreads, stream, n, width, rows, data<T>(table),
             data<T>(flat), data<int>(indices), place.complaint);
    });
}

}  // namespace ronde::inline v0::cuda
