#include <ronde/core/tensor.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <ronde/core/storage.h>

#include "backend/cpu/cpu_backend.h"
#include "core/testing.h"

namespace ronde::test {
namespace {

Tensor iota(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from<float>(shape, values);
}

TEST(Tensor, ZerosThatAreWantedOnceAreZeros) {
  for (const std::int64_t count : {5, 900'000}) {
    {
      const Tensor before = Tensor::empty_once({count});
      before.fill(7.0);
    }
    { const Tensor before = Tensor::full({count}, 7.0); }
    const std::vector<float> values = Tensor::zeros_once({count}).to_vector<float>();
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), count);
  }
  EXPECT_EQ(Tensor::zeros_once({2}, {.dtype = DType::i64}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0}));
}

TEST(Tensor, MakesAndReadsValues) {
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_EQ(x.count(), 6);
  EXPECT_EQ(x.byte_size(), 24u);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(to_string(x), "f32 (2, 3)");
  EXPECT_EQ(Tensor::full({}, 2.5).item(), 2.5);
  EXPECT_EQ(Tensor::zeros({2}).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Tensor, AnUndefinedOneSaysSo) {
  const Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(to_string(x), "undefined");
  expect_error([&] { x.fill(0); }, "before it was given a value");
}

TEST(Tensor, WrongUseCarriesTheValues) {
  const Tensor x = iota({2, 3});
  expect_error([&] { (void)x.data<double>(); }, "accessed as f64, but it is f32");
  expect_error([&] { (void)x.item(); }, "6 elements");
  expect_error([&] { (void)x.reshape({4, 2}); }, "(2, 3) does not fit into (4, 2)");
  expect_error([&] { (void)x.slice(1, 2, 4); }, "2 to 4 of axis 1 of shape (2, 3)");
  expect_error([&] { (void)x.slice(2, 0, 1); }, "axis 2 of shape (2, 3)");
  expect_error([&] { (void)x.permute({0, 0}); }, "axes (0, 0) for shape (2, 3)");
  expect_error([&] { (void)x.broadcast_to({2, 4}); }, "(2, 3)");
  expect_error([&] { x.copy_from(iota({3, 2})); }, "from shape (3, 2) to shape (2, 3)");
  expect_error([&] { (void)Tensor::from<float>({3}, {1, 2}); }, "holds 3 elements, got 2");
  expect_error([&] { (void)Tensor::empty({2, -1}); }, "(2, -1)");
  expect_error(
      [&] {
        (void)Tensor::empty({1 << 30, 1 << 30, 8});
      },
      "(1073741824, 1073741824, 8) is too large");
  expect_error([&] { (void)x.view(4, {3}); }, "(3,) at 4 of (2, 3)");
  expect_error([&] { (void)x.view(0, {-2, -3}); }, "(-2, -3) at 0 of (2, 3)");
  expect_error([&] { (void)x.view(0, {INT64_MAX, 2}); }, "more elements than can be counted");
}

TEST(Tensor, ViewsShareTheStorage) {
  const Tensor x = iota({3, 4});
  const Tensor rows = x.slice(0, 1, 3), columns = x.slice(-1, 1, 3), turned = x.permute({1, 0});
  EXPECT_TRUE(rows.shares_storage_with(x));
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_EQ(columns.to_vector<float>(), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(turned.shape(), (Shape{4, 3}));
  EXPECT_EQ(turned.slice(0, 1, 2).to_vector<float>(), (std::vector<float>{1, 5, 9}));
  columns.fill(-1);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0, -1, -1, 3, 4, -1, -1, 7, 8, -1, -1, 11}));
  EXPECT_EQ(x.view(4, {2, 2}).to_vector<float>(), (std::vector<float>{4, -1, -1, 7}));
}

TEST(Tensor, LiesOverMemoryOfTheCaller) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6, 7};
  {
    const Tensor x = Tensor::over(memory.data() + 1, {2, 3});  // no more aligned than its elements
    EXPECT_EQ(x.raw(), memory.data() + 1);
    memory[1] = 20;
    EXPECT_EQ(x.slice(1, 0, 1).to_vector<float>(), (std::vector<float>{20, 5}));
    x.fill(-1);
    x.discard(0, 6);
  }
  EXPECT_EQ(memory, (std::vector<float>{1, -1, -1, -1, -1, -1, -1}));
  auto owned = std::make_shared<std::vector<std::int32_t>>(4, 7);
  Tensor y = Tensor::over(owned->data(), {4}, owned);
  const std::weak_ptr<const void> alive = std::exchange(owned, nullptr);
  EXPECT_EQ(y.to_vector<std::int32_t>(), (std::vector<std::int32_t>(4, 7)));
  y = {};
  EXPECT_TRUE(alive.expired());
  expect_error([&] { (void)Tensor::over(static_cast<float*>(nullptr), {2}); }, "(2,) is null");
  EXPECT_EQ(Tensor::over(static_cast<float*>(nullptr), {0, 2}).count(), 0);
}

TEST(Tensor, RefusesStridesThatReachBeyondItsMemory) {
  const auto storage = std::make_shared<Storage>(default_backend(), 64);
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const auto over = [&](const Shape& shape, const Shape& strides) {
    return Tensor::over(storage, shape, strides, DType::f32);
  };
  expect_error([&] { (void)over({3}, {kFar}); },
               cat("[tensor] strides (", kFar, ",) for shape (3,) reach too far"));
  expect_error([&] { (void)over({2, 2, 2}, {kFar, kFar, 1}); }, "reach too far");
  expect_error([&] { (void)over({2}, {kFar}); }, "reach too far");  // in bytes
  expect_error([&] { (void)over({3}, {8}); }, "needs 68 bytes, more than the storage has");
  EXPECT_EQ(over({2, 3}, {8, 1}).count(), 6);
}

TEST(Tensor, BroadcastsWithoutCopying) {
  const Tensor x = Tensor::from<float>({2, 1}, {1, 2});
  const Tensor wide = x.broadcast_to({2, 2, 3});
  EXPECT_TRUE(wide.shares_storage_with(x));
  EXPECT_EQ(wide.to_vector<float>(), (std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(Tensor, ReshapeInfersOneExtent) {
  const Tensor x = iota({2, 3, 4});
  EXPECT_EQ(x.reshape({2, -1}).shape(), (Shape{2, 12}));
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{24}));
  EXPECT_TRUE(x.reshape({4, 6}).shares_storage_with(x));
  expect_error([&] { (void)x.reshape({-1, -1}); }, "(-1, -1)");
  expect_error([&] { (void)x.reshape({5, -1}); }, "(5, -1)");
  expect_error([&] { (void)x.reshape({0, -1}); }, "(0, -1)");
  EXPECT_EQ(x.permute({2, 1, 0}).reshape({-1}).slice(0, 0, 3).to_vector<float>(),
            (std::vector<float>{0, 12, 4}));
}

TEST(Tensor, AnEmptyBatchFlattensLikeAnyOther) {
  const Tensor x = Tensor::empty({0, 5, 5, 2});
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.reshape({0, -1}).shape(), (Shape{0, 50}));
  EXPECT_EQ(x.reshape({-1, 50}).shape(), (Shape{0, 50}));
  EXPECT_EQ(x.to_vector<float>().size(), 0u);
  EXPECT_EQ(x.clone().shape(), x.shape());
}

TEST(Tensor, CopiesBetweenDTypesAndStrides) {
  const Tensor x = iota({2, 3});
  const Tensor y = Tensor::zeros({3, 2}, {.dtype = DType::i32});
  y.permute({1, 0}).copy_from(x);
  EXPECT_EQ(y.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
  const Tensor clone = x.clone();
  EXPECT_FALSE(clone.shares_storage_with(x));
  EXPECT_TRUE(x.to(DType::f32).shares_storage_with(x));
  EXPECT_TRUE(x.contiguous().shares_storage_with(x));
}

TEST(Tensor, CopiesWithinItsOwnMemory) {
  const Tensor row = iota({6}), square = iota({3, 3});
  row.slice(0, 1, 6).copy_from(row.slice(0, 0, 5));
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 3, 4}));
  row.slice(0, 0, 5).copy_from(row.slice(0, 1, 6));
  EXPECT_EQ(row.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 4}));
  square.copy_from(square.permute({1, 0}));
  EXPECT_EQ(square.to_vector<float>(), (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  const Tensor empty = Tensor::zeros({0, 2});
  empty.copy_from(empty);
}

TEST(Tensor, ShowsItsValues) {
  EXPECT_EQ(values_text(Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6.5f})),
            "f32 (2, 3)\n[[1, 2, 3],\n [4, 5, 6.5]]");
  EXPECT_EQ(values_text(Tensor::from<float>({2, 2, 1}, {0.1f, -1e10f, 1e-7f, 1.0f / 3}).permute({1, 0, 2})),
            "f32 (2, 2, 1)\n[[[0.1],\n  [1e-07]],\n [[-1e+10],\n  [0.333333]]]");
  EXPECT_EQ(values_text(Tensor::from<std::int64_t>({2}, {1234567890123, -1})),
            "i64 (2,)\n[1234567890123, -1]");
  EXPECT_EQ(values_text(Tensor::full({}, 2.5)), "f32 ()\n2.5");
  EXPECT_EQ(values_text(Tensor::zeros({0, 4})), "f32 (0, 4)\n[]");
  EXPECT_EQ(values_text(Tensor()), "undefined");
  EXPECT_EQ(values_text(Tensor::full({1}, std::nan(""))), "f32 (1,)\n[nan]");
  std::vector<std::int32_t> many(2002);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int32_t>(i);
  EXPECT_EQ(values_text(Tensor::from<std::int32_t>({2, 1001}, many)),
            "i32 (2, 1001)\n[[0, 1, 2, ..., 998, 999, 1000],\n [1001, 1002, 1003, ..., 1999, 2000, 2001]]");
}

TEST(Tensor, MovedFromIsUndefined) {
  Tensor x = iota({2, 3});
  const Tensor y = std::move(x);
  EXPECT_FALSE(x.defined());  // NOLINT: that is what is tested
  expect_error([&] { (void)x.item(); }, "before it was given a value");
  EXPECT_EQ(y.count(), 6);
}

TEST(Tensor, KeepsItsBackend) {
  CpuBackend mine;
  const Tensor x = Tensor::from<double>({2}, {1, 2}, &mine);
  EXPECT_EQ(&x.backend(), &mine);
  EXPECT_EQ(&x.clone().backend(), &mine);
  EXPECT_EQ(&x.to(DType::f32).backend(), &mine);
  EXPECT_EQ(&Tensor::empty_like(x).backend(), &mine);
  const Tensor there = x.to(backend("cpu"));
  EXPECT_EQ(&there.backend(), &backend("cpu"));
  EXPECT_EQ(there.to_vector<double>(), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace ronde::test
