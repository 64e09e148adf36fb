#include "distributed/collectives_suite.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/distributed/values.h>

#include "distributed/collective_values.h"

namespace ronde::test {

namespace {

const std::vector<DType> kDTypes{DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32, DType::i64};
// 1,024 elements are reduced at a time.
const std::vector<std::int64_t> kSizes{0, 1, 63, 64, 65, 1023, 1025, 20003};
const std::vector<Reduction> kReductions{Reduction::sum, Reduction::average, Reduction::min, Reduction::max,
                                         Reduction::product};

// Fewer sizes for many ranks, which all would compute the same.
template <class F>
void for_each_case(const Communicator& c, F&& f) {
  const std::vector<std::int64_t> few{0, 1, 65, 1025};
  for (const DType dtype : kDTypes) {
    for (const std::int64_t n : c.size() <= 5 ? kSizes : few) f(dtype, n);
  }
}

// Averages are for floats; the largest size says it all with a sum.
bool is_worthwhile(DType dtype, Reduction op, std::int64_t n) {
  if (op == Reduction::average && !is_floating(dtype)) return false;
  return n <= 1025 || op == Reduction::sum;
}

std::string bits_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), tensor.byte_size()};
}

}  // namespace

void check_allreduce(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t n) {
    for (const Reduction op : kReductions) {
      if (!is_worthwhile(dtype, op, n)) continue;
      const std::string what = cat("allreduce ", dtype, " op ", static_cast<int>(op), " n ", n);
      const Tensor data = make_input(c.rank(), {n}, dtype);
      c.allreduce(data, op).wait();
      std::vector<double> reference;
      for (std::int64_t i = 0; i < kPeriod; ++i) reference.push_back(reduced(c.size(), i, dtype, op));
      expect_values(
          data, [&](std::int64_t i) { return reference[static_cast<std::size_t>(i % kPeriod)]; },
          tolerance(c.size(), dtype), what);
      expect_same_bits(c, data, what);
    }
  });
}

void check_bucket_sizes(Communicator& c) {
  if (c.size() == 1 || c.size() > 3) return;
  constexpr std::int64_t kSmallBucket = (1 << 20) / 4, kBucket = 25 * kSmallBucket;
  const Tensor all = Tensor::empty({kBucket + 1}, host(DType::f32));
  for (const std::int64_t n : {kSmallBucket - 1, kSmallBucket, kSmallBucket + 1, kBucket + 1}) {
    if (n > kBucket && c.size() > 2) break;  // takes a sanitizer long
    const Tensor data = all.view(0, {n});
    float* values = data.data<float>();
    for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 8191 + c.rank());
    c.allreduce(data).wait();
    const auto wrong = [&](std::int64_t i) {
      return values[i] != static_cast<float>(c.size() * (i % 8191) + c.size() * (c.size() - 1) / 2);
    };
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) count += wrong(i) ? 1 : 0;
    EXPECT_EQ(count, 0) << "of " << n << " sums";
  }
}

void check_broadcast(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t n) {
    const int root = static_cast<int>(n) % c.size();
    const Tensor data = make_input(c.rank(), {n}, dtype);
    c.broadcast(data, root).wait();
    expect_values(
        data, [&](std::int64_t i) { return value(root, i, dtype); }, 0.0, cat("broadcast ", n));
  });
}

void check_allgather(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t total) {
    const std::int64_t n = total > 1025 ? total / c.size() : total;
    const Tensor in = make_input(c.rank(), {n, 2}, dtype);
    const Tensor out = Tensor::zeros({n * c.size(), 2}, host(dtype));
    c.allgather(out, in).wait();
    expect_values(
        out, [&](std::int64_t i) { return value(static_cast<int>(i / (2 * n)), i % (2 * n), dtype); }, 0.0,
        cat("allgather ", dtype, " n ", n));
  });
}

void check_allgatherv(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t n) {
    std::vector<std::int64_t> counts;
    for (int r = 0; r < c.size(); ++r) counts.push_back(r * n / 3 % 1000);
    const std::int64_t own = counts[static_cast<std::size_t>(c.rank())];
    const Tensor out =
        Tensor::zeros({std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 3}, host(dtype));
    c.allgatherv(out, make_input(c.rank(), {own, 3}, dtype), counts).wait();
    std::vector<double> expected;
    for (int r = 0; r < c.size(); ++r) {
      for (std::int64_t i = 0; i < 3 * counts[static_cast<std::size_t>(r)]; ++i)
        expected.push_back(value(r, i, dtype));
    }
    expect_values(
        out, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; }, 0.0,
        cat("allgatherv ", dtype, " n ", n));
  });
}

void check_reduce_scatter(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t n) {
    for (const Reduction op : kReductions) {
      if (!is_worthwhile(dtype, op, n)) continue;
      const std::int64_t rows = n > 1025 ? n / c.size() : n / 4;
      const Tensor in = make_input(c.rank(), {rows * c.size(), 2}, dtype);
      const Tensor out = Tensor::zeros({rows, 2}, host(dtype));
      c.reduce_scatter(out, in, op).wait();
      std::vector<double> reference;
      for (std::int64_t i = 0; i < kPeriod; ++i) reference.push_back(reduced(c.size(), i, dtype, op));
      expect_values(
          out,
          [&](std::int64_t i) {
            return reference[static_cast<std::size_t>((c.rank() * rows * 2 + i) % kPeriod)];
          },
          tolerance(c.size(), dtype), cat("reduce_scatter ", dtype, " op ", static_cast<int>(op), " n ", n));
    }
  });
}

void check_alltoall(Communicator& c) {
  for_each_case(c, [&](DType dtype, std::int64_t n) {
    const std::int64_t rows = n > 1025 ? n / c.size() : n / 4;
    const Tensor in = make_input(c.rank(), {rows * c.size()}, dtype);
    const Tensor out = Tensor::zeros({rows * c.size()}, host(dtype));
    c.alltoall(out, in).wait();
    expect_values(
        out,
        [&](std::int64_t i) { return value(static_cast<int>(i / rows), c.rank() * rows + i % rows, dtype); },
        0.0, cat("alltoall ", dtype, " n ", n));
  });
}

void check_unknown_rows(Communicator& c) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
    for (const std::int64_t n : {0, 1, 64, 1025}) {
      const auto rows = [&](int r) { return (r % 3) * n + r % 2; };
      const Tensor all = c.allgather(make_input(c.rank(), {rows(c.rank()), 2}, dtype)).wait();
      std::vector<double> expected;
      for (int r = 0; r < c.size(); ++r) {
        for (std::int64_t i = 0; i < 2 * rows(r); ++i) expected.push_back(value(r, i, dtype));
      }
      ASSERT_EQ(all.shape(), (Shape{static_cast<std::int64_t>(expected.size()) / 2, 2}));
      EXPECT_EQ(all.to_vector<double>(), expected) << "allgather " << to_string(dtype) << " n " << n;
    }
  }
}

void check_uneven_reduce_scatter(Communicator& c) {
  const int size = c.size();
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    for (const std::int64_t rows : {0, 1, size - 1, size, 7 * size + size / 2, 301}) {
      const Tensor in = make_input(c.rank(), {rows, 3}, dtype);
      const Tensor before = in.clone();
      const Tensor out = c.reduce_scatter(in).wait();
      const std::int64_t more = rows % size;
      const std::int64_t first = rows / size * c.rank() + std::min<std::int64_t>(more, c.rank());
      ASSERT_EQ(out.shape(), (Shape{rows / size + (c.rank() < more ? 1 : 0), 3}));
      expect_values(
          out, [&](std::int64_t i) { return reduced(size, first * 3 + i, dtype, Reduction::sum); },
          tolerance(size, dtype), cat("reduce_scatter of ", rows, " rows, ", dtype));
      EXPECT_EQ(in.to_vector<double>(), before.to_vector<double>());
    }
  }
}

void check_alltoall_splits(Communicator& c) {
  for (const DType dtype : {DType::f64, DType::u8}) {
    for (const std::int64_t n : {0, 1, 65, 500}) {
      const auto rows = [&](int from, int to) { return (to + 2 * from) % 4 * n; };
      std::vector<std::int64_t> splits, counts;
      for (int r = 0; r < c.size(); ++r) splits.push_back(rows(c.rank(), r));
      const Tensor in =
          make_input(c.rank(), {std::accumulate(splits.begin(), splits.end(), std::int64_t{0}), 2}, dtype);
      const ReceivedRows received = c.alltoall(in, splits).wait();
      std::vector<double> expected;
      for (int from = 0; from < c.size(); ++from) {
        std::int64_t first = 0;
        for (int to = 0; to < c.rank(); ++to) first += rows(from, to);
        counts.push_back(rows(from, c.rank()));
        for (std::int64_t i = 0; i < 2 * counts.back(); ++i)
          expected.push_back(value(from, 2 * first + i, dtype));
      }
      EXPECT_EQ(received.counts, counts);
      EXPECT_EQ(received.rows.to_vector<double>(), expected) << "alltoall " << to_string(dtype) << " n " << n;
    }
  }
}

void check_in_place(Communicator& c) {
  const int size = c.size();
  for (const DType dtype : kDTypes) {
    for (const std::int64_t rows : {33, 7001}) {
      if (rows > 33 && dtype != DType::f32) continue;
      const Tensor all = Tensor::zeros({rows * size, 2}, host(dtype));
      const Tensor own = all.slice(0, rows * c.rank(), rows * (c.rank() + 1));
      own.copy_from(make_input(c.rank(), {rows, 2}, dtype));
      c.allgather(all, own).wait();
      const auto gathered = [&](std::int64_t i) {
        return value(static_cast<int>(i / (2 * rows)), i % (2 * rows), dtype);
      };
      expect_values(all, gathered, 0.0, cat("allgather in place ", dtype));
      // Every rank has the same now, so sums are multiples; the other ranks' places stay as they are.
      c.reduce_scatter(own, all).wait();
      const auto reduced = [&](std::int64_t i) {
        return gathered(i) * (i / (2 * rows) == c.rank() ? size : 1);
      };
      expect_values(all, reduced, tolerance(size, dtype), cat("reduce_scatter in place ", dtype));
    }
  }
}

namespace {

// All bits of integers matter, and what does not fit wraps around; an element is one of 64 bits, cut.
template <class T>
void check_integers_of(Communicator& c, Reduction op) {
  const auto element = [](int r, std::int64_t i) {
    return static_cast<T>((static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u +
                          0xbf58476d1ce4e5b9u * std::uint64_t(r));
  };
  const auto combine = [op](T a, T b) {
    if (op == Reduction::min) return std::min(a, b);
    if (op == Reduction::max) return std::max(a, b);
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == Reduction::product ? x * y : x + y);
  };
  for (const std::int64_t n : {5, 130}) {
    std::vector<T> expected, own;
    for (std::int64_t i = 0; i < n * c.size(); ++i) {
      own.push_back(element(c.rank(), i));
      expected.push_back(element(0, i));
      for (int r = 1; r < c.size(); ++r) expected.back() = combine(expected.back(), element(r, i));
    }
    const auto first = expected.begin() + n * c.rank();
    EXPECT_EQ(reduce_scatter(c, own, {.op = op}).wait(), std::vector<T>(first, first + n)) << to_string(op);
    allreduce(c, own, {.op = op}).wait();
    EXPECT_EQ(own, expected) << to_string(op) << " of " << to_string(dtype_of<T>);
  }
}

}  // namespace

void check_integers(Communicator& c) {
  for (const Reduction op : {Reduction::sum, Reduction::min, Reduction::max, Reduction::product}) {
    check_integers_of<std::int64_t>(c, op);
    check_integers_of<std::int32_t>(c, op);
    check_integers_of<std::uint8_t>(c, op);
  }
}

namespace {

// Element i of all, of which `result` begins with number `first`, is none where one rank had none.
bool becomes_nan(std::int64_t i) {
  return i % 5 == 2;
}
void expect_nans(const Tensor& result, std::int64_t first, const std::string& what) {
  const std::vector<double> actual = result.to_vector<double>();
  for (std::int64_t i = 0; i < result.count(); ++i)
    ASSERT_EQ(std::isnan(actual[static_cast<std::size_t>(i)]), becomes_nan(first + i)) << what << ' ' << i;
}

void check_nans_of(Communicator& c, DType dtype, Reduction op, int odd) {
  const std::int64_t rows = c.size() > 5 ? 65 : 1029;
  std::vector<double> values = make_input(c.rank(), {rows * c.size()}, dtype).to_vector<double>();
  for (std::size_t i = 0; i < values.size() && c.rank() == odd; ++i)
    if (becomes_nan(static_cast<std::int64_t>(i))) values[i] = std::nan("");
  const Tensor data = Tensor::from<double>({std::ssize(values)}, values, &backend("cpu")).to(dtype);
  const Tensor part = Tensor::zeros({rows}, host(dtype));
  c.reduce_scatter(part, data, op).wait();
  c.allreduce(data, op).wait();
  const std::string what = cat(to_string(op), ' ', dtype, ", NaNs of rank ", odd);
  expect_nans(data, 0, what);
  expect_nans(part, rows * c.rank(), what);
  expect_same_bits(c, data, what);
}

}  // namespace

void check_nans(Communicator& c) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16})
    for (const Reduction op : {Reduction::min, Reduction::max, Reduction::sum})
      for (const int odd : {0, c.size() / 2, c.size() - 1}) check_nans_of(c, dtype, op, odd);
}

void check_scales(Communicator& c) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const double roundings = tolerance(c.size() + 3, dtype) * 3;
    const AllreduceOptions options{.op = Reduction::sum, .prescale = 0.25, .postscale = 3.0};
    const auto expected = [&](std::int64_t i) { return 0.75 * reduced(c.size(), i, dtype, Reduction::sum); };
    const Tensor data = make_input(c.rank(), {65}, dtype);
    c.allreduce(data, options).wait();
    expect_values(data, expected, roundings, cat("scaled allreduce ", dtype));
    expect_same_bits(c, data, "scaled allreduce");
    const Tensor in = make_input(c.rank(), {4 * c.size()}, dtype);
    const Tensor out = Tensor::zeros({4}, host(dtype));
    c.reduce_scatter(out, in, options).wait();
    expect_values(
        out, [&](std::int64_t i) { return expected(4 * c.rank() + i); }, roundings,
        cat("scaled reduce_scatter ", dtype));
    EXPECT_EQ(in.to_vector<double>(), make_input(c.rank(), {4 * c.size()}, dtype).to_vector<double>());
  }
}

void check_grouped(Communicator& c) {
  for (const Reduction op : {Reduction::sum, Reduction::average, Reduction::max}) {
    for (const bool is_floating : {true, false}) {
      if (!is_floating && op == Reduction::average) continue;
      std::vector<Tensor> group, alone;
      for (const DType dtype : kDTypes) {
        if (ronde::is_floating(dtype) != is_floating) continue;
        for (const std::int64_t n : {0, 1, 65, 3001}) group.push_back(make_input(c.rank(), {n}, dtype));
        group.push_back(make_input(c.rank(), {}, dtype));
      }
      for (const Tensor& tensor : group) alone.push_back(tensor.clone());
      const double prescale = is_floating ? 0.5 : 1.0;
      const Work work = c.grouped_allreduce(group, {.op = op, .prescale = prescale, .name = "group"});
      work.wait();
      for (std::size_t k = 0; k < group.size(); ++k) {
        c.allreduce(alone[k], {.op = op, .prescale = prescale}).wait();
        EXPECT_EQ(bits_of(group[k]), bits_of(alone[k])) << to_string(group[k]);
      }
    }
  }
}

void check_scalars(Communicator& c) {
  const Tensor scalar = Tensor::full({}, c.rank() + 1, host(DType::f64));
  c.allreduce(scalar).wait();
  EXPECT_EQ(scalar.item(), c.size() * (c.size() + 1) / 2);
  c.broadcast(Tensor::full({}, c.rank(), host(DType::i32)), c.size() - 1).wait();
  const Tensor none = Tensor::zeros({3, 0, 2}, host(DType::f32));
  c.allreduce(none, Reduction::average).wait();
  c.broadcast(none).wait();
  EXPECT_EQ(c.allgather(none).wait().shape(), (Shape{3 * c.size(), 0, 2}));
  std::vector<std::int64_t> splits(static_cast<std::size_t>(c.size()), 0);
  splits.front() = 3;
  EXPECT_EQ(c.alltoall(none, splits).wait().rows.size(0), c.rank() == 0 ? 3 * c.size() : 0);
}

void check_some_collectives(Communicator& c) {
  check_broadcast(c);
  check_unknown_rows(c);
  check_uneven_reduce_scatter(c);
  check_alltoall_splits(c);
  check_integers(c);
  check_nans(c);
  check_grouped(c);
  check_many_in_flight(c);
}

void check_collectives(Communicator& c) {
  check_allreduce(c);
  check_bucket_sizes(c);
  check_broadcast(c);
  check_allgather(c);
  check_allgatherv(c);
  check_unknown_rows(c);
  check_reduce_scatter(c);
  check_uneven_reduce_scatter(c);
  check_alltoall(c);
  check_alltoall_splits(c);
  check_in_place(c);
  check_integers(c);
  check_nans(c);
  check_scales(c);
  check_grouped(c);
  check_scalars(c);
  check_many_in_flight(c);
}

}  // namespace ronde::test
