/// Element-wise reduction of several buffers, in the order in which they are given.
#pragma once

#include <cstdint>
#include <vector>

#include <ronde/core/dtype.h>
#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// Every outs[k] becomes the reduction of elements [begin, end) of all `ins`; an out may be one of the ins.
/// outs are addressed from element out_begin on. bf16 is added up in float and rounded once.
void reduce(const std::vector<void*>& outs, std::int64_t out_begin, const std::vector<const void*>& ins,
            std::int64_t begin, std::int64_t end, DType dtype, Reduction op);

/// bf16 as float, and back, rounded; apart from each other.
void widen(const void* values, std::int64_t count, float* wide);
void narrow(const float* wide, std::int64_t count, void* values);

/// data /= divisor; floating dtypes, but not bf16.
void divide(void* data, std::int64_t count, DType dtype, int divisor);
/// data *= factor; floating dtypes, unless the factor is 1.
void scale(void* data, std::int64_t count, DType dtype, double factor);

}  // namespace ronde::inline v0
