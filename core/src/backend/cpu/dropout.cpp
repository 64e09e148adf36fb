#include <ronde/core/philox.h>

#include "backend/cpu/cpu_backend.h"

namespace ronde::inline v0 {

namespace {

// One sample of `count` elements; four of them share a draw.
template <class T>
void drop_row(T* out, const T* x, std::int64_t count, std::uint64_t key, const std::int64_t* sample_epoch,
              double rate) {
  const auto threshold =
      static_cast<float>(rate);  // a float for every T: the mask is the same in f32 and f64
  const T scale = static_cast<T>(1 / (1 - rate));
  const auto sample = static_cast<std::uint64_t>(sample_epoch[0]);
  const auto epoch = static_cast<std::uint64_t>(sample_epoch[1]);
  Philox4 words{};
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 4 == 0) words = sample_bits(key, sample, epoch, static_cast<std::uint64_t>(i / 4));
    const bool kept = uniform_float(words[static_cast<std::size_t>(i % 4)]) >= threshold;
    out[i] = kept ? x[i] * scale : T(0);
  }
}

}  // namespace

void CpuBackend::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                         const DropoutParams& params) {
  if (params.rate == 0) return copy(out, x);
  const std::int64_t n = x.size(0), per_sample = n == 0 ? 0 : x.count() / n;
  const std::uint64_t key = random_key(params.seed, params.op);
  const auto* keys = sample_keys.data<std::int64_t>();
  visit_real(out.dtype(), "dropout", [&]<class T>(T) {
    T* to = out.data<T>();
    const T* from = x.data<T>();
    threads_.parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        drop_row(to + i * per_sample, from + i * per_sample, per_sample, key, keys + 2 * i, params.rate);
    });
  });
}

}  // namespace ronde::inline v0
