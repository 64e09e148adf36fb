// Rows of a table, chosen by index.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/table.h"

namespace ronde::inline v0 {

void CpuBackend::gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) {
  require_rows("gather_rows", indices, table.size(0));
  const std::int64_t width = table.size(1);
  visit_real(out.dtype(), "gather_rows", [&]<class T>(T) {
    const std::int32_t* index = indices.data<std::int32_t>();
    T* to = out.data<T>();
    const T* from = table.data<T>();
    threads_.parallel_for(indices.count(), grain_of(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) std::copy_n(from + index[i] * width, width, to + i * width);
    });
  });
}

void CpuBackend::gather_scaled(const Tensor& out, const Tensor& table, const Tensor& indices, double scale,
                               double offset) {
  require_rows("gather_scaled", indices, table.size(0));
  const std::int64_t width = table.size(1);
  const std::int32_t* index = indices.data<std::int32_t>();
  visit_real(out.dtype(), "gather_scaled", [&]<class T>(T) {
    visit_stored(table.dtype(), "gather_scaled", [&]<class From>(From) {
      threads_.parallel_for(indices.count(), grain_of(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          scale_row(out.data<T>() + i * width, table.data<From>() + index[i] * width, width, scale, offset);
      });
    });
  });
}

// Each thread owns a part of the table and looks at all indices, so that a row gets its sum from one thread,
// in one order.
void CpuBackend::scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) {
  const std::int64_t rows = table.size(0), width = table.size(1);
  require_rows("scatter_add_rows", indices, rows);
  visit_real(table.dtype(), "scatter_add_rows", [&]<class T>(T) {
    const std::int32_t* index = indices.data<std::int32_t>();
    T* to = table.data<T>();
    const T* from = x.data<T>();
    threads_.parallel_for(rows, grain_of(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < indices.count(); ++i) {
        if (index[i] < begin || index[i] >= end) continue;
        for (std::int64_t k = 0; k < width; ++k) to[index[i] * width + k] += from[i * width + k];
      }
    });
  });
}

}  // namespace ronde::inline v0
