#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/philox.h>

#include "support/gradient_check.h"

namespace ronde::test {
namespace {

Tensor keys(const std::vector<std::int64_t>& samples, std::int64_t epoch) {
  std::vector<std::int64_t> values;
  for (const std::int64_t sample : samples) {
    values.push_back(sample);
    values.push_back(epoch);
  }
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(samples.size()), 2}, values, &backend("cpu"));
}

constexpr DropoutParams kDropout{.rate = 0.25, .seed = 7, .op = 3};

TEST(Dropout, IsAFunctionOfSeedOpSampleEpochAndElement) {
  const Tensor ones = Tensor::full({2, 3, 2}, 1.0, {.dtype = DType::f64, .backend = &backend("cpu")});
  std::vector<double> expected;
  for (const std::uint64_t sample : {std::uint64_t{5}, std::uint64_t{1} << 40})
    for (std::uint64_t e = 0; e < 6; ++e) {
      const Philox4 bits = sample_bits(random_key(7, 3), sample, 9, e / 4);
      expected.push_back(uniform_float(bits[e % 4]) >= 0.25f ? 1 / 0.75 : 0.0);
    }
  expect_close(dropout(ones, keys({5, std::int64_t{1} << 40}, 9), kDropout).value(), expected, 1e-15, "mask");
}

TEST(Dropout, GradientHasTheSameMask) {
  const auto f = [](const Variables& v) { return dropout(v[0], keys({4, 8, 15}, 2), kDropout); };
  expect_gradients(f, {random_tensor({3, 7})});
  expect_gradients(f, {random_tensor({3, 2, 2, 3})});
  expect_gradients([&](const Variables& v) { return f({permute(v[0], {1, 0})}); }, {random_tensor({5, 3})});
  expect_gradients([](const Variables& v) { return dropout(v[0], keys({}, 0), kDropout); },
                   {random_tensor({0, 3})});
}

// With a relu there is no mask in the backward pass: the result says what was dropped.
TEST(Dropout, BehindDenseIsTwoCalls) {
  for (const Epilogue epilogue : {Epilogue::none, Epilogue::relu})
    for (const double rate : {0.0, 0.25}) {
      const DropoutParams params{.rate = rate, .seed = 7, .op = 3};
      const auto f = [&](const Variables& v) {
        return dense_dropout(v[0], {v[1], v[2], epilogue}, {keys({4, 8, 15}, 2), params});
      };
      const std::vector<Tensor> inputs{random_tensor({3, 5}, 1), random_tensor({5, 6}, 2),
                                       random_tensor({6}, 3)};
      const Variables v(inputs.begin(), inputs.end());
      expect_close(
          f(v).value(),
          dropout(dense(v[0], v[1], v[2], epilogue), keys({4, 8, 15}, 2), params).value().to_vector<double>(),
          1e-15, "forward");
      expect_gradients(f, inputs);
    }
  EXPECT_EQ(message_of([&] {
              dense_dropout(random_tensor({2, 3}), {random_tensor({3, 1}), {}, Epilogue::relu},
                            {keys({1}, 0), kDropout});
            }),
            "[dropout] sample keys must be i64 (2, 2), got i64 (1, 2): the first axis of (2, 3) is that of "
            "the samples");
}

TEST(Dropout, RateZeroIsTheIdentity) {
  const Variable x = Variable::parameter(random_tensor({2, 3}));
  EXPECT_TRUE(dropout(x, {}, {.rate = 0}).same_as(x));
}

TEST(Dropout, SaysWhatIsWrong) {
  const Tensor x = random_tensor({2, 3});
  EXPECT_EQ(message_of([&] { dropout(x, keys({1}, 0), kDropout); }),
            "[dropout] sample keys must be i64 (2, 2), got i64 (1, 2): the first axis of (2, 3) is that of "
            "the samples");
  EXPECT_EQ(message_of([&] { dropout(x, {}, kDropout); }),
            "[dropout] sample keys must be i64 (2, 2), got undefined: the first axis of (2, 3) is that of "
            "the samples");
  EXPECT_EQ(message_of([&] {
              dropout(x, keys({1, 2}, 0), {.rate = 1.0});
            }),
            "[dropout] rate must be in [0, 1), got 1");
}

}  // namespace
}  // namespace ronde::test
