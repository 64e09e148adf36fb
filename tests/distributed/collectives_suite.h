/// What every kind of communicator must do, as functions that each rank calls on its communicator. Thread and
/// MPI ranks run the same checks. Results are compared with a serial computation in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ronde/core/backend.h>
#include <ronde/distributed/communicator.h>

namespace ronde::test {

inline const std::vector<DType> kDTypes{DType::f32, DType::f64, DType::bf16,
                                        DType::u8,  DType::i32, DType::i64};
inline const std::vector<std::int64_t> kSizes{0, 1, 63, 64, 65, 1000, 100003};
inline const std::vector<Reduction> kReductions{Reduction::sum, Reduction::average, Reduction::min,
                                                Reduction::max, Reduction::product};
constexpr std::int64_t kPeriod = 97;  // values repeat, so that references are cheap

inline TensorOptions host(DType dtype) {
  return {.dtype = dtype, .backend = &backend("cpu")};
}

/// Element i of rank r's tensor. Floats use a good part of their mantissa; all are exact in their dtype.
inline double value(int r, std::int64_t i, DType dtype) {
  const std::int64_t k = (i % kPeriod + 31 * r) * 2654435761 % 1021;
  if (dtype == DType::u8) return static_cast<double>(k % 7);
  if (!is_floating(dtype)) return static_cast<double>(k % 15 - 7);
  const auto x = static_cast<float>(0.5 + static_cast<double>(k) / 1021.0);
  return dtype == DType::bf16 ? static_cast<double>(static_cast<float>(bfloat16(x))) : static_cast<double>(x);
}

inline Tensor make_input(int r, const Shape& shape, DType dtype, std::int64_t offset = 0) {
  const Tensor tensor = Tensor::empty(shape, host(dtype));
  visit_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = tensor.data<T>();
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if constexpr (std::is_same_v<T, bfloat16>) {
        data[i] = bfloat16(static_cast<float>(value(r, offset + i, dtype)));
      } else {
        data[i] = static_cast<T>(value(r, offset + i, dtype));
      }
    }
  });
  return tensor;
}

inline double reduced(int size, std::int64_t i, DType dtype, Reduction op) {
  double result = value(0, i, dtype);
  for (int r = 1; r < size; ++r) {
    const double x = value(r, i, dtype);
    switch (op) {
      case Reduction::min:
        result = std::min(result, x);
        break;
      case Reduction::max:
        result = std::max(result, x);
        break;
      case Reduction::product:
        result *= x;
        break;
      default:
        result += x;
    }
  }
  return op == Reduction::average ? result / size : result;
}

/// Relative error that `size - 1` roundings of the dtype may cause, and one more when it is stored.
inline double tolerance(int size, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return size * 0x1p-24;
    case DType::f64:
      return size * 0x1p-53;
    case DType::bf16:
      return 0x1p-8 + size * 0x1p-24;
    default:
      return 0.0;
  }
}

/// u8 wraps around modulo 256 (7 values to the 8th exceed it).
inline double stored(double x, DType dtype) {
  return dtype == DType::u8 ? static_cast<double>(static_cast<std::uint8_t>(static_cast<std::int64_t>(x)))
                            : x;
}

/// Element i of `actual` must be reference(i); reports the first that is not.
template <class F>
void expect_values(const Tensor& actual, F&& reference, double relative, const std::string& what) {
  const std::vector<double> values = actual.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = stored(reference(static_cast<std::int64_t>(i)), actual.dtype());
    if (std::abs(values[i] - expected) <= relative * std::abs(expected)) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << to_string(actual) << " is " << values[i]
                  << ", expected " << expected;
    return;
  }
}

/// All ranks must hold the same bits.
inline void expect_same_bits(Communicator& c, const Tensor& tensor, const std::string& what) {
  const std::string own(static_cast<const char*>(tensor.raw()), tensor.byte_size());
  const std::vector<std::string> all = allgather_strings(c, std::to_string(std::hash<std::string>{}(own)));
  for (const std::string& other : all) EXPECT_EQ(other, all.front()) << what << ": bits differ by rank";
}

template <class F>
void for_each_case(F&& f) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t n : kSizes) f(dtype, n);
  }
}

/// Averages are for floats; the largest size, which is cut into blocks, says it all with a sum.
inline bool is_worthwhile(DType dtype, Reduction op, std::int64_t n) {
  if (op == Reduction::average && !is_floating(dtype)) return false;
  return n <= 1000 || op == Reduction::sum;
}

inline void check_allreduce(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
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

inline void check_broadcast(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
    const int root = static_cast<int>(n) % c.size();
    const Tensor data = make_input(c.rank(), {n}, dtype);
    c.broadcast(data, root).wait();
    expect_values(
        data, [&](std::int64_t i) { return value(root, i, dtype); }, 0.0, cat("broadcast ", n));
  });
}

inline void check_allgather(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
    const Tensor in = make_input(c.rank(), {n, 2}, dtype);
    const Tensor out = Tensor::zeros({n * c.size(), 2}, host(dtype));
    c.allgather(out, in).wait();
    expect_values(
        out, [&](std::int64_t i) { return value(static_cast<int>(i / (2 * n)), i % (2 * n), dtype); }, 0.0,
        cat("allgather ", dtype, " n ", n));
  });
}

/// Rank r gives r * n / 3 rows: some give none.
inline void check_allgatherv(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
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

inline void check_reduce_scatter(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
    for (const Reduction op : kReductions) {
      if (!is_worthwhile(dtype, op, n)) continue;
      const std::int64_t rows = n / 4;
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

inline void check_alltoall(Communicator& c) {
  for_each_case([&](DType dtype, std::int64_t n) {
    const std::int64_t rows = n / 4;
    const Tensor in = make_input(c.rank(), {rows * c.size()}, dtype);
    const Tensor out = Tensor::zeros({rows * c.size()}, host(dtype));
    c.alltoall(out, in).wait();
    expect_values(
        out,
        [&](std::int64_t i) { return value(static_cast<int>(i / rows), c.rank() * rows + i % rows, dtype); },
        0.0, cat("alltoall ", dtype, " n ", n));
  });
}

/// Many operations under way, waited for in an order of each rank's own.
inline void check_many_in_flight(Communicator& c) {
  constexpr int kOperations = 60;
  std::vector<Tensor> tensors;
  std::vector<Work> works;
  for (int k = 0; k < kOperations; ++k) {
    tensors.push_back(Tensor::full({1 + 37 * k}, k + c.rank(), host(DType::f64)));
    works.push_back(k % 3 == 2 ? c.broadcast(tensors.back(), k % c.size()) : c.allreduce(tensors.back()));
  }
  std::vector<std::size_t> order(kOperations);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(c.rank())));
  for (const std::size_t k : order) {
    works[k].wait();
    EXPECT_TRUE(works[k].done());
    const int n = c.size();
    const int kk = static_cast<int>(k);
    const double expected = kk % 3 == 2 ? kk + kk % n : kk * n + n * (n - 1) / 2;
    expect_values(
        tensors[k], [&](std::int64_t) { return expected; }, 0.0, cat("operation ", kk));
  }
}

/// Odd and even ranks apart, in reverse order; the last rank stays out.
inline void check_split(Communicator& c) {
  const bool is_out = c.size() > 1 && c.rank() == c.size() - 1;
  const auto part = c.split(is_out ? -1 : c.rank() % 2, -c.rank());
  ASSERT_EQ(part == nullptr, is_out);
  if (part) {
    std::vector<double> members;
    const int last = c.size() > 1 ? c.size() - 2 : 0;
    for (int r = last; r >= 0; --r) {
      if (r % 2 == c.rank() % 2) members.push_back(r);
    }
    ASSERT_EQ(part->size(), static_cast<int>(members.size()));
    EXPECT_EQ(members[static_cast<std::size_t>(part->rank())], c.rank());
    const Tensor out = Tensor::zeros({part->size()}, host(DType::f64));
    part->allgather(out, Tensor::full({1}, c.rank(), host(DType::f64))).wait();
    EXPECT_EQ(out.to_vector<double>(), members);
  }
  c.barrier().wait();
}

/// Ranks that call different things: the same error everywhere, at once, and then life goes on.
inline void check_mismatch(Communicator& c) {
  if (c.size() == 1) return;
  const int odd = c.size() - 1;
  const bool is_odd = c.rank() == odd;
  const auto error_of = [&](const Work& work) -> std::string {
    try {
      work.wait();
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.rank(), odd);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(c.allreduce(Tensor::zeros({is_odd ? 63 : 64}, host(DType::f32)))),
            cat("[distributed] ranks disagree: rank 0 calls allreduce(sum, f32 (64,)), rank ", odd,
                " calls allreduce(sum, f32 (63,))"));
  EXPECT_EQ(error_of(c.broadcast(Tensor::zeros({4}, host(is_odd ? DType::f64 : DType::f32)), 0)),
            cat("[distributed] ranks disagree: rank 0 calls broadcast(f32 (4,), root 0), rank ", odd,
                " calls broadcast(f64 (4,), root 0)"));
  EXPECT_EQ(
      error_of(is_odd ? c.barrier() : c.allreduce(Tensor::zeros({2, 3}, host(DType::i32)), Reduction::max)),
      cat("[distributed] ranks disagree: rank 0 calls allreduce(max, i32 (2, 3)), rank ", odd,
          " calls barrier()"));
  std::vector<double> one{1.0};
  allreduce_values(c, one);
  EXPECT_EQ(one[0], c.size());
}

inline void check_arguments(Communicator& c) {
  const Tensor ints = Tensor::zeros({4, 6}, host(DType::i32));
  EXPECT_THROW(c.allreduce(ints, Reduction::average), UsageError);
  EXPECT_THROW(c.allreduce(ints.permute({1, 0})), UsageError);
  EXPECT_THROW(c.allreduce(Tensor()), UsageError);
  EXPECT_THROW(c.broadcast(ints, c.size()), UsageError);
  EXPECT_THROW(c.broadcast(ints, -1), UsageError);
  EXPECT_THROW(c.allgather(ints, Tensor::zeros({5, 6}, host(DType::i32))), UsageError);
  EXPECT_THROW(c.allgatherv(ints, ints, {}), UsageError);
  EXPECT_THROW(c.reduce_scatter(Tensor::zeros({4, 5}, host(DType::i32)), ints), UsageError);
  EXPECT_THROW(c.alltoall(Tensor::zeros({4, 6}, host(DType::f32)), ints), UsageError);
}

inline void check_strings(Communicator& c) {
  const std::string own = c.rank() == 1 ? ""
                                        : std::string(static_cast<std::size_t>(c.rank() * 5 + 1),
                                                      'a' + static_cast<char>(c.rank()));
  const std::vector<std::string> all = allgather_strings(c, own);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(c.size()));
  EXPECT_EQ(all[static_cast<std::size_t>(c.rank())], own);
  EXPECT_EQ(all[0], "a");
  const int root = c.size() - 1;
  EXPECT_EQ(broadcast_string(c, cat("from ", c.rank()), root), cat("from ", root));
}

/// `collectively`: the lowest failing rank's error, on all ranks.
inline void check_agree(Communicator& c) {
  collectively(c, [] {});
  for (const int first : {0, c.size() - 1}) {
    try {
      collectively(c, [&] {
        if (c.rank() >= first) throw InputError(cat("file of rank ", c.rank()));
      });
      ADD_FAILURE() << "no error";
    } catch (const CollectiveError& error) {
      EXPECT_EQ(error.rank(), first);
      EXPECT_EQ(error.what(), cat("file of rank ", first));
      EXPECT_EQ(error.status(), ExitStatus::bad_input);
    }
  }
}

}  // namespace ronde::test
