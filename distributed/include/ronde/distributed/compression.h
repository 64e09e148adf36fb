/// What of the gradients travels between the ranks.
///
///     model.compile({..., .distributed = {.compression = compression::PowerSgd{.rank = 4}}});
///
/// | | sent by a rank, n ranks, B bytes of f32 gradients | result |
/// |---|---|---|
/// | None | 2 (n - 1) / n * B | the sum |
/// | Bf16, Fp16 | half of that | the sum, rounded twice |
/// | TopK | (n - 1) * 2 * ratio * B | what is large; the rest is sent later |
/// | PowerSgd | 2 (n - 1) / n * rank * (rows + columns) * 4 | the best directions; the rest is sent later |
///
/// TopK and PowerSgd feed back errors: what a rank did not send it adds to its next gradients. That memory is
/// as large as the gradients and belongs to the rank; it is not in a checkpoint, and a run that goes on from
/// one says so.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

namespace compression {

struct None {};

/// Each rank's values are rounded to 16 bits, summed in f32 and rounded once more: for each element
/// |result - sum| <= u * (sum of |values| + |result|), with u = 2^-8, and the range is that of f32.
struct Bf16 {};

/// The same with u = 2^-11. Values travel in blocks of 1,024, each scaled by a power of two to its largest
/// value, so that none overflows and no loss scale is needed; what is smaller than 2^-29 times that has an
/// absolute error of 2^-39 times it instead. A NaN or infinity stays one.
struct Fp16 {};

/// Of each parameter the ratio * count values of largest magnitude (at least one), with their places. Each
/// rank sends its own to all others, so it pays while ratio < 1 / n.
struct TopK {
  double ratio = 0.01;
};

/// Vogels, Karimireddy and Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
/// Optimization", arXiv 1905.13727: each parameter as a matrix (first axis, all others) is replaced by two
/// factors with `rank` columns, found by one step of a power iteration that starts from the step before.
/// Parameters with one axis, and those that this would not make half as large, travel whole.
struct PowerSgd {
  int rank = 4;
  std::int64_t start_step = 0;  ///< so many updates are made with whole gradients first
};

}  // namespace compression

using Compression = std::variant<compression::None, compression::Bf16, compression::Fp16, compression::TopK,
                                 compression::PowerSgd>;

/// "none", "bf16", "top-k(0.01)", "power-sgd(4, from step 100)"
RONDE_API std::string to_string(const Compression& compression);
/// Whether ranks remember what they did not send.
RONDE_API bool has_error_feedback(const Compression& compression);

}  // namespace ronde::inline v0
