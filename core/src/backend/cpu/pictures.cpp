// Pictures of a table, scaled and changed.
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/table.h"
#include "pictures/change_picture.h"

namespace ronde::inline v0 {

void CpuBackend::change_pictures(const Tensor& out, const Tensor& table, const Tensor& indices,
                                 const Tensor& numbers, const PictureParams& params) {
  const PictureExtent extent{out.size(1), out.size(2), out.size(3)};
  const std::int64_t width = extent.count();
  if (indices.defined()) require_rows("change_pictures", indices, table.size(0));
  const std::int32_t* index = indices.defined() ? indices.data<std::int32_t>() : nullptr;
  const std::int64_t step = numbers.size(0) == 1 ? 0 : params.steps.numbers;
  visit_real(out.dtype(), "change_pictures", [&]<class T>(T) {
    visit_stored(table.dtype(), "change_pictures", [&]<class From>(From) {
      threads_.parallel_for(out.size(0), grain_of(width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          T* picture = out.data<T>() + i * width;
          scale_row(picture, table.data<From>() + (index ? index[i] : i) * width, width, params.scale,
                    params.offset);
          change_picture(picture, extent, params.steps.all(), numbers.data<double>() + i * step);
        }
      });
    });
  });
}

}  // namespace ronde::inline v0
