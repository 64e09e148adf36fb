/// Random tensors for steps of one's own, as the noise of a GAN, a VAE or a diffusion model.
///
///     const Tensor z = random_normal({64, 128}, {.seed = 1, .name = "z", .step = step});
///     const Variable x = mean + exp(0.5 * log_variance) * z;
///     // Of a batch's samples: on any number of ranks each sample gets the same noise.
///     const Tensor noise = random_normal(batch->inputs.shape(),
///                                        {.seed = 1, .name = "noise", .sample_keys = batch->sample_keys});
///
/// The numbers are a function of the options and of where an element stands: nothing is kept from one call to
/// the next, so a step that is repeated gets its numbers again. They are the same bits on any number of
/// threads, on every machine and for every backend, in f64 those of f32, in bf16 rounded. Those of weights
/// are others: initializer.h of nn.
#pragma once

#include <cstdint>
#include <string_view>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

struct RandomOptions {
  std::uint64_t seed = 0;
  /// What they are for: two tensors of one step want two names.
  std::string_view name = {};
  /// Each gives other numbers. Ranks that are to differ give each another one, `step * size() + rank()`, or
  /// keys of their samples.
  std::int64_t step = 0;
  /// i64 (n, 2): global index and epoch of the samples along the first axis, as a batch has them. What a
  /// sample gets then depends on these, not on its place. Undefined: no samples.
  Tensor sample_keys = {};
  /// A floating one.
  DType dtype = DType::f32;
  /// Where the result lies; nullptr: the default backend. That of a GPU is made on the CPU and copied.
  Backend* backend = nullptr;
};

/// Standard normal: mean 0, variance 1, at most 6.66 from 0 (Box and Muller's, of 32 random bits a number).
/// Others are `mean + deviation * x`. An Error for sample keys that are not i64 (n, 2) for a shape (n, ...),
/// or an integer dtype.
RONDE_API Tensor random_normal(const Shape& shape, const RandomOptions& options = {});
/// Uniform in [0, 1), multiples of 2^-24. Others are `low + (high - low) * x`. Errors as of random_normal.
RONDE_API Tensor random_uniform(const Shape& shape, const RandomOptions& options = {});

}  // namespace ronde::inline v0
