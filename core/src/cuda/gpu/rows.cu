// Rows of a table, chosen by indices.
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

namespace {

template <class T>
__global__ void gather_kernel(Index n, Index width, Index rows, T* out, const T* table, const int* indices,
                              Complaint* complaint) {
  for (Index i = first_element(); i < n * width; i += element_step()) {
    const Index row = indices[i / width];
    if (row < 0 || row >= rows) {
      complain(complaint, Op::gather_rows, row, i / width, rows);
      out[i] = T(0);
    } else {
      out[i] = table[row * width + i % width];
    }
  }
}

// A thread owns a column of the table, so that a row's terms are added in their order; columns are few and
// indices many only for narrow tables.
template <class T>
__global__ void scatter_add_kernel(Index n, Index width, Index rows, T* table, const T* x, const int* indices,
                                   Complaint* complaint) {
  for (Index column = first_element(); column < width; column += element_step())
    for (Index i = 0; i < n; ++i) {
      const Index row = indices[i];
      if (row < 0 || row >= rows)
        complain(complaint, Op::scatter_add_rows, row, i, rows);
      else
        table[row * width + column] += x[i * width + column];
    }
}

}  // namespace

void run_rows(const Call& call, const Place& place) {
  const bool gathers = call.op == Op::gather_rows;
  const Operand &table = gathers ? call[1] : call[0], &flat = gathers ? call[0] : call[1], &indices = call[2];
  const Index n = indices.count(), width = table.shape[1], rows = table.shape[0];
  if (n == 0 || width == 0) return;
  const cudaStream_t stream = native(place.stream);
  with_real(table.dtype, [&]<class T>(T) {
    if (gathers)
      gather_kernel<T><<<blocks_for(n * width), kThreads, 0, stream>>>(
          n, width, rows, data<T>(flat), data<T>(table), data<int>(indices), place.complaint);
    else
      scatter_add_kernel<T><<<blocks_for(width), kThreads, 0, stream>>>(
          n, width, rows, data<T>(table), data<T>(flat), data<int>(indices), place.complaint);
  });
}

}  // namespace ronde::inline v0::cuda
