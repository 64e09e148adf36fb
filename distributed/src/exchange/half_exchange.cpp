#include "exchange/half_exchange.h"

#include <algorithm>

#include "exchange/slices.h"

namespace ronde::inline v0 {

HalfExchange::HalfExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                           HalfFormat format)
    : GradientExchange(arena, communicator, options), codec_(format) {
  const Slices largest(*std::max_element(counts().begin(), counts().end()), size());
  const Shape room{codec_.bytes(largest.length()) * size()};
  const TensorOptions bytes{.dtype = DType::u8, .backend = this->options().backend};
  sent_ = Tensor::zeros(room, bytes);
  received_ = Tensor::zeros(room, bytes);
  sums_.resize(static_cast<std::size_t>(largest.length()));
}

std::byte* HalfExchange::bytes_at(const Tensor& buffer, std::int64_t slice, std::int64_t slice_bytes) const {
  return static_cast<std::byte*>(buffer.raw()) + slice * slice_bytes;
}

void HalfExchange::run(const Part& part, Wire& wire) {
  visit_real(part.values.dtype(), "distributed_optimizer",
             [&](auto tag) { run_typed<decltype(tag)>(part, wire); });
}

template <class T>
void HalfExchange::run_typed(const Part& part, Wire& wire) {
  const Slices slices(part.values.count(), size());
  const std::int64_t bytes = codec_.bytes(slices.length());
  const Tensor sent = sent_.view(0, {size() * bytes});
  const Tensor received = received_.view(0, {size() * bytes});
  T* values = part.values.data<T>();
  for (int r = 0; r < size(); ++r)
    codec_.encode(values + slices.begin(r), slices.count(r), bytes_at(sent, r, bytes));
  wire.exchange(received, sent);

  const int own = rank();
  std::fill_n(sums_.begin(), slices.length(), 0.0f);
  for (int r = 0; r < size(); ++r) codec_.add(bytes_at(received, r, bytes), slices.count(own), sums_.data());
  codec_.encode(sums_.data(), slices.count(own), bytes_at(sent, own, bytes));
  wire.gather(received, sent.view(own * bytes, {bytes}));
  for (int r = 0; r < size(); ++r)
    codec_.decode(bytes_at(received, r, bytes), slices.count(r), values + slices.begin(r));
}

}  // namespace ronde::inline v0
