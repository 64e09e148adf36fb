/// What the kernels that choose rows of a table share.
#pragma once

#include <algorithm>
#include <type_traits>

#include <ronde/core/counted.h>
#include <ronde/core/scaled.h>
#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// Rows of so many elements that a thread takes at once.
inline std::int64_t grain_of(std::int64_t width) {
  constexpr std::int64_t kGrain = 16384;  // elements
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width));
}

inline void require_rows(const char* kernel, const Tensor& indices, std::int64_t rows) {
  const std::int32_t* index = indices.data<std::int32_t>();
  for (std::int64_t i = 0; i < indices.count(); ++i)
    require(index[i] >= 0 && index[i] < rows, "[", kernel, "] index ", index[i], " at position ", i,
            " is outside a table of ", counted(rows, "row"));
}

/// Calls `f` with a zero of the type that a table of a data set stores.
template <class F>
void visit_stored(DType dtype, const char* kernel, F&& f) {
  visit_dtype(dtype, [&]<class From>(From) {
    if constexpr (std::is_arithmetic_v<From> && !std::is_same_v<From, std::int64_t>)
      f(From{});
    else
      throw Error(cat("[", kernel, "] expects a table of u8, i32, f32 or f64, got ", dtype));
  });
}

template <class T, class From>
void scale_row(T* out, const From* row, std::int64_t width, double scale, double offset) {
  using Wide = ScaledIn<T, From>;
  std::transform(row, row + width, out, [&](From value) {
    return scaled<T>(value, static_cast<Wide>(scale), static_cast<Wide>(offset));
  });
}

}  // namespace ronde::inline v0
