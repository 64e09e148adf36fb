/// Tables by rows: blocks take rows, the threads of a block what lies side by side in one. So a thread finds
/// its place by a short division or none; those of 64 bits are long on a GPU.
#pragma once

#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

struct RowGrid {
  dim3 blocks;
  unsigned threads;
};

/// `width` counts what a thread takes at once.
inline RowGrid row_grid(Index rows, Index width) {
  constexpr Index kMostRows = 65535;
  constexpr Index kMost = (Index{1} << 31) - 1 - kMostRows;  // one step beyond is an int too
  if (rows > kMost || width > kMost) refuse("a tensor has more rows, or longer ones, than a kernel counts");
  const Index warps = (width + kWarp - 1) / kWarp;
  const Index threads = warps * kWarp < kThreads ? warps * kWarp : kThreads;
  return {dim3(static_cast<unsigned>((width + threads - 1) / threads),
               static_cast<unsigned>(rows < kMostRows ? rows : kMostRows)),
          static_cast<unsigned>(threads)};
}

/// `f(row, i)` for all i below `width` of all rows.
template <class F>
__device__ void for_each_in_rows(int rows, int width, F&& f) {
  for (int row = static_cast<int>(blockIdx.y); row < rows; row += static_cast<int>(gridDim.y)) {
    const auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < width) f(row, i);
  }
}

}  // namespace ronde::inline v0::cuda
