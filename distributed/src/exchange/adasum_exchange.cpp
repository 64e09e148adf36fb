#include "exchange/adasum_exchange.h"

#include <algorithm>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

// Of one parameter in this rank's slice, for a pair of vectors.
struct Products {
  double ab = 0.0, aa = 0.0, bb = 0.0;
};
constexpr std::int64_t kProducts = 3;

// Where a parameter lies in the slice; empty where it does not.
struct Range {
  std::int64_t begin = 0, end = 0;
};

std::vector<Range> ranges_in(const std::vector<Segment>& segments, std::int64_t begin, std::int64_t count) {
  std::vector<Range> ranges;
  for (const Segment& segment : segments)
    ranges.push_back({std::clamp<std::int64_t>(segment.offset - begin, 0, count),
                      std::clamp<std::int64_t>(segment.offset + segment.count - begin, 0, count)});
  return ranges;
}

template <class T>
Products products_of(const T* a, const T* b, Range range) {
  Products sums;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const double x = a[i], y = b[i];
    sums.ab += x * y;
    sums.aa += x * x;
    sums.bb += y * y;
  }
  return sums;
}

// 1 - a.b / 2 |a|^2; a vector of zeros adds nothing, and takes nothing away.
double weight(double ab, double squares) {
  return squares > 0.0 ? 1.0 - ab / (2.0 * squares) : 1.0;
}

// One round: vectors 0, 2, ... take in their neighbours 1, 3, ...; the last may have none.
template <class T>
std::vector<T*> combine_pairs(const std::vector<T*>& vectors, const std::vector<Range>& ranges, Wire& wire) {
  const std::size_t pairs = vectors.size() / 2;
  const auto numbers = static_cast<std::int64_t>(pairs * ranges.size()) * kProducts;
  const Tensor sums = Tensor::zeros({numbers}, {.dtype = DType::f64, .backend = &backend("cpu")});
  auto* products = sums.data<double>();
  for (std::size_t p = 0; p < pairs; ++p) {
    for (const Range& range : ranges) {
      const Products own = products_of(vectors[2 * p], vectors[2 * p + 1], range);
      *products++ = own.ab;
      *products++ = own.aa;
      *products++ = own.bb;
    }
  }
  wire.sum(sums);
  products = sums.data<double>();
  std::vector<T*> combined;
  for (std::size_t p = 0; p < pairs; ++p) {
    T *a = vectors[2 * p], *b = vectors[2 * p + 1];
    for (const Range& range : ranges) {
      const double of_a = weight(products[0], products[1]), of_b = weight(products[0], products[2]);
      for (std::int64_t i = range.begin; i < range.end; ++i)
        a[i] = static_cast<T>(of_a * double{a[i]} + of_b * double{b[i]});
      products += kProducts;
    }
    combined.push_back(a);
  }
  if (vectors.size() % 2 != 0) combined.push_back(vectors.back());
  return combined;
}

}  // namespace

AdasumExchange::AdasumExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options)
    : GradientExchange(arena, communicator, options) {
  const Slices largest(*std::max_element(counts().begin(), counts().end()), size());
  sent_ = Tensor::zeros({largest.length() * size()}, this->options());
  received_ = Tensor::zeros({largest.length() * size()}, this->options());
}

void AdasumExchange::run(const Part& part, Wire& wire) {
  visit_real(part.values.dtype(), "distributed_optimizer",
             [&](auto tag) { run_typed<decltype(tag)>(part, wire); });
}

template <class T>
void AdasumExchange::run_typed(const Part& part, Wire& wire) {
  const std::int64_t count = part.values.count();
  const Slices slices(count, size());
  const Tensor sent = sent_.view(0, {size() * slices.length()});
  const Tensor received = received_.view(0, {size() * slices.length()});
  const double scale = outlook().samples > 0.0 ? 1.0 / outlook().samples : 0.0;
  const Tensor means = sent.view(0, {count});
  means.backend().unary(UnaryOp::affine, means, part.values, {.alpha = scale, .beta = 0.0});
  wire.exchange(received, sent);

  const int own = rank();
  const std::vector<Range> ranges = ranges_in(part.segments, slices.begin(own), slices.count(own));
  std::vector<T*> vectors;
  for (int r = 0; r < size(); ++r) vectors.push_back(received.data<T>() + r * slices.length());
  while (vectors.size() > 1) vectors = combine_pairs(vectors, ranges, wire);
  wire.gather(sent, received.view(0, {slices.length()}));
  part.values.copy_from(means);
}

}  // namespace ronde::inline v0
