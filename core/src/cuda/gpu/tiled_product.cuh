/// Products of float matrices by tiles: a block makes a tile of the result, each of its threads a smaller one
/// in registers. Factors go through shared memory, stage by stage: while one is multiplied, the next is read.
#pragma once

#include "cuda/gpu/packs.cuh"

namespace ronde::inline v0::cuda {

constexpr int tiles_of(Index count, int tile) {
  return static_cast<int>((count + tile - 1) / tile);
}

/// How a block shares out its work. A stage has `Depth` products for each sum, of which each group of threads
/// takes some.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns, int Depth, int Groups = 1>
struct Tile {
  static constexpr int kRows = Rows, kColumns = Columns, kDepth = Depth, kGroups = Groups;
  static constexpr int kThreadRows = ThreadRows, kThreadColumns = ThreadColumns;
  static constexpr int kDown = Rows / ThreadRows, kAcross = Columns / ThreadColumns;
  static constexpr int kGroupThreads = kDown * kAcross, kBlockThreads = kGroupThreads * Groups;
  static constexpr int kGroupDepth = Depth / Groups;
  static_assert(ThreadRows % 4 == 0 && ThreadColumns % 4 == 0 && kGroupDepth % 4 == 0 &&
                kBlockThreads % kWarp == 0);
};

/// Registers for so many threads a multiprocessor. For compute capability 8.6 to 8.9 the compiler would
/// spill; what it takes there leaves room for as many as there is shared memory for.
constexpr int kThreadsAtOnce = kCompiledFor > 800 && kCompiledFor < 900 ? 256 : 384;
template <class T>
constexpr int kBlocks = (T::kThreadRows * T::kThreadColumns > 32 ? kThreadsAtOnce : 512) / T::kBlockThreads;

/// One side's factors in a stage. Those of four depths are apart from the next by so much that threads which
/// share out depths write to different banks.
template <int Size, int Depth>
struct alignas(kPackBytes) Factors {
  static constexpr int kSkew = 32 / (Depth / 4);
  float at[Depth * Size + Depth / 4 * kSkew];

  __device__ static constexpr int place(int depth, int i) { return depth * Size + depth / 4 * kSkew + i; }
};

template <class T>
struct Stage {
  Factors<T::kRows, T::kDepth> a;
  Factors<T::kColumns, T::kDepth> b;
};
template <class T>
using Stages = Stage<T>[2];

template <class T>
using TileSums = float[T::kThreadRows][T::kThreadColumns];

/// Reads factors of which the depths of a row are neighbours: four of them a thread, for some rows.
template <int Size, int Depth, int Threads>
struct RowsOfDepths {
  static constexpr int kQuads = Depth / 4, kStep = Threads / kQuads, kLoads = Size / kStep;
  static_assert(kLoads > 0 && kLoads * kStep == Size);
  Quad values[kLoads];

  __device__ static int depth() { return static_cast<int>(threadIdx.x) % kQuads * 4; }
  __device__ static int row(int load) { return static_cast<int>(threadIdx.x) / kQuads + load * kStep; }
  __device__ void store(Factors<Size, Depth>& to) const {
#pragma unroll
    for (int load = 0; load < kLoads; ++load)
#pragma unroll
      for (int k = 0; k < 4; ++k) to.at[to.place(depth() + k, row(load))] = values[load].at[k];
  }
};

/// Reads factors of which the rows of a depth are neighbours: four of them a thread, for some depths in a
/// row.
template <int Size, int Depth, int Threads>
struct DepthsOfRows {
  static constexpr int kQuads = Size / 4, kShares = Threads / kQuads, kLoads = Depth / kShares;
  static_assert(kLoads > 0 && kLoads * kShares == Depth && 4 % kLoads == 0);
  Quad values[kLoads];

  __device__ static int row() { return static_cast<int>(threadIdx.x) % kQuads * 4; }
  __device__ static int depth() { return static_cast<int>(threadIdx.x) / kQuads * kLoads; }
  __device__ void store(Factors<Size, Depth>& to) const {
#pragma unroll
    for (int load = 0; load < kLoads; ++load)
      store_pack<4>(to.at + to.place(depth() + load, row()), values[load]);
  }
};

template <class T>
using RowDepths = RowsOfDepths<T::kRows, T::kDepth, T::kBlockThreads>;
template <class T>
using ColumnDepths = RowsOfDepths<T::kColumns, T::kDepth, T::kBlockThreads>;
template <class T>
using DepthRows = DepthsOfRows<T::kRows, T::kDepth, T::kBlockThreads>;
template <class T>
using DepthColumns = DepthsOfRows<T::kColumns, T::kDepth, T::kBlockThreads>;

/// Where a thread's part of a tile is: four rows from `row` on, four more a share of the tile further,
/// columns alike. Threads of a warp are near each other, so that it reads few addresses of shared memory at
/// once.
template <class T>
struct Seat {
  static constexpr int kLanesDown = T::kDown < 8 ? T::kDown : 8, kLanesAcross = kWarp / kLanesDown;
  static constexpr int kRowShare = T::kDown * 4, kColumnShare = T::kAcross * 4;
  int group, row, column;

  __device__ Seat() {
    const int me = static_cast<int>(threadIdx.x) % T::kGroupThreads, lane = me % kWarp, warp = me / kWarp;
    constexpr int kWarpsDown = T::kDown / kLanesDown;
    group = static_cast<int>(threadIdx.x) / T::kGroupThreads;
    row = 4 * (lane / 2 % kLanesDown + warp % kWarpsDown * kLanesDown);
    column = 4 * (lane % 2 + lane / (2 * kLanesDown) * 2 + warp / kWarpsDown * kLanesAcross);
  }
};

/// `at` leads to a thread's first factor; its others are in shares.
template <int Share, int Count>
__device__ void read_factors(const float* at, float (&factors)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; i += 4) {
    const Quad quad = load_pack<4>(at + i / 4 * Share);
#pragma unroll
    for (int k = 0; k < 4; ++k) factors[i + k] = quad.at[k];
  }
}

template <class T>
__device__ void add_stage(const Stage<T>& stage, const Seat<T>& seat, TileSums<T>& sums) {
  const float* a = stage.a.at + stage.a.place(seat.group * T::kGroupDepth, seat.row);
  const float* b = stage.b.at + stage.b.place(seat.group * T::kGroupDepth, seat.column);
#pragma unroll
  for (int k = 0; k < T::kGroupDepth; ++k) {
    float down[T::kThreadRows], across[T::kThreadColumns];
    read_factors<Seat<T>::kRowShare>(a + stage.a.place(k, 0), down);
    read_factors<Seat<T>::kColumnShare>(b + stage.b.place(k, 0), across);
#pragma unroll
    for (int i = 0; i < T::kThreadRows; ++i)
#pragma unroll
      for (int j = 0; j < T::kThreadColumns; ++j) sums[i][j] += down[i] * across[j];
  }
}

/// Leaves the groups' sums with the first one. All threads call it.
template <class T>
__device__ void add_groups(Stages<T>& stages, const Seat<T>& seat, TileSums<T>& sums) {
  static_assert(T::kGroups / 2 * T::kRows * T::kColumns * sizeof(float) <= sizeof stages);
  float* shared = stages[0].a.at;
#pragma unroll
  for (int half = T::kGroups / 2; half > 0; half /= 2) {
    const int others = half * T::kGroupThreads, me = static_cast<int>(threadIdx.x) % others;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T::kThreadRows * T::kThreadColumns; ++i)
      if (seat.group >= half && seat.group < 2 * half)
        shared[i * others + me] = sums[i / T::kThreadColumns][i % T::kThreadColumns];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T::kThreadRows * T::kThreadColumns; ++i)
      if (seat.group < half) sums[i / T::kThreadColumns][i % T::kThreadColumns] += shared[i * others + me];
  }
}

/// A block's tile of the product, of so many stages' factors: `a` and `b` `load` those of one after the
/// other. Calls `write(row, column, quad)` for four columns each, seen from the tile's corner.
template <class T, class A, class B, class Write>
__device__ void make_tile(A& a, B& b, int steps, Write&& write) {
  __shared__ Stages<T> stages;
  const Seat<T> seat;
  TileSums<T> sums = {};
  a.load();
  b.load();
  a.store(stages[0].a);
  b.store(stages[0].b);
  __syncthreads();
  for (int step = 0; step < steps; ++step) {
    const bool goes_on = step + 1 < steps;
    if (goes_on) {
      a.load();
      b.load();
    }
    add_stage<T>(stages[step % 2], seat, sums);
    if (!goes_on) break;
    a.store(stages[(step + 1) % 2].a);
    b.store(stages[(step + 1) % 2].b);
    __syncthreads();
  }
  if constexpr (T::kGroups > 1) add_groups<T>(stages, seat, sums);
  if (seat.group > 0) return;
#pragma unroll
  for (int i = 0; i < T::kThreadRows; ++i)
#pragma unroll
    for (int j = 0; j < T::kThreadColumns; j += 4)
      write(i / 4 * Seat<T>::kRowShare + seat.row + i % 4, j / 4 * Seat<T>::kColumnShare + seat.column,
            Quad{{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]}});
}

}  // namespace ronde::inline v0::cuda
