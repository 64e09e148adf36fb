#include <gtest/gtest.h>

#include <ronde/core/backend.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/subset.h>

#include "data/testing.h"
#include "support/message_of.h"

namespace ronde {
namespace {

using test::host;
using test::message_of;
using test::read_samples;

TEST(InMemoryDataset, DescribesItsSamples) {
  const InMemoryDataset data(host<std::uint8_t>({3, 2, 2, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
                             host<std::int32_t>({3}, {0, 1, 0}), {.class_names = {"cat", "dog"}});
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.input_shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(data.target_shape(), Shape{});
  EXPECT_EQ(data.target_dtype(), DType::i32);
  EXPECT_EQ(data.class_names(), (std::vector<std::string>{"cat", "dog"}));
}

// x / 255 in float, correctly rounded, is what Keras' examples feed.
TEST(InMemoryDataset, ScalesBytesAsADivisionInFloatDoes) {
  std::vector<std::uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
  const InMemoryDataset data(host<std::uint8_t>({256, 1}, bytes),
                             host<std::int32_t>({256}, std::vector<int>(256)), {.scale = 1.0 / 255});
  std::vector<std::int64_t> all(256);
  for (int i = 0; i < 256; ++i) all[static_cast<std::size_t>(i)] = i;
  const auto [inputs, targets] = read_samples(data, all);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(inputs.data<float>()[i], static_cast<float>(i) / 255.0f);
}

template <class From, class To>
void expect_gathered() {
  const InMemoryDataset data(host<From>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}),
                             host<double>({4, 1}, {.5, 1.5, 2.5, 3.5}), {.scale = 0.5, .offset = -1});
  const std::pair<Tensor, Tensor> gathered = read_samples(data, {3, 0, 3}, dtype_of<To>);
  EXPECT_EQ(gathered.first.to_vector<double>(), (std::vector<double>{2, 2.5, -1, -.5, 2, 2.5}));
  EXPECT_EQ(gathered.second.to_vector<double>(), (std::vector<double>{3.5, .5, 3.5}));
  EXPECT_EQ(gathered.second.shape(), (Shape{3, 1}));
}

TEST(InMemoryDataset, GathersAnyTypeIntoFloatAndDouble) {
  expect_gathered<std::uint8_t, float>();
  expect_gathered<std::uint8_t, double>();
  expect_gathered<float, float>();
  expect_gathered<float, double>();
  expect_gathered<double, float>();
  expect_gathered<double, double>();
}

TEST(InMemoryDataset, TakesLabelsOfAnyIntegerTypeAndStridedTensors) {
  const Tensor wide = host<float>({2, 2}, {1, 2, 3, 4}).permute({1, 0});
  const InMemoryDataset data(wide, host<std::int64_t>({2}, {1, 0}));
  const auto [inputs, targets] = read_samples(data, {0, 1});
  EXPECT_EQ(inputs.to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(targets.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 0}));
}

// 2^32 + 1 is not class 1.
TEST(InMemoryDataset, RejectsLabelsOfMoreThan32Bits) {
  const std::int64_t wide = (std::int64_t{1} << 32) + 1;
  EXPECT_EQ(message_of([&] {
              InMemoryDataset(host<float>({2, 1}, {1, 2}), host<std::int64_t>({2, 2}, {0, 1, 2, wide}));
            }),
            "[in_memory_dataset] target 4294967297 of sample 1 is no label of 32 bits");
}

TEST(InMemoryDataset, RejectsWhatDoesNotFit) {
  const Tensor x = host<float>({2, 1}, {0, 1});
  const Tensor y = host<std::int32_t>({2}, {0, 1});
  EXPECT_THROW(InMemoryDataset(x, host<std::int32_t>({3}, {0, 1, 2})), Error);
  EXPECT_THROW(InMemoryDataset(host<std::int64_t>({2}, {0, 1}), y), Error);
  EXPECT_THROW(InMemoryDataset(x, Tensor()), Error);
  EXPECT_THROW(InMemoryDataset(x, y, {.class_names = {"only"}}), Error);
  EXPECT_THROW(read_samples(InMemoryDataset(x, y), {2}), Error);
  EXPECT_THROW(read_samples(InMemoryDataset(x, y), {-1}), Error);
}

TEST(Subset, IsTheFirstSamples) {
  const InMemoryDataset data(host<float>({4, 1}, {0, 1, 2, 3}), host<std::int32_t>({4}, {0, 1, 2, 3}));
  const Subset two = subset(data, 2);
  EXPECT_EQ(two.size(), 2);
  EXPECT_EQ(two.input_shape(), (Shape{1}));
  const auto [inputs, targets] = read_samples(two, {1, 0});
  EXPECT_EQ(targets.to_vector<int>(), (std::vector<int>{1, 0}));
  EXPECT_THROW(read_samples(two, {2}), Error);
  EXPECT_EQ(subset(data, 100).size(), 4);
  EXPECT_THROW(subset(data, 0), UsageError);
  EXPECT_EQ(two.in_memory(), &data);
}

/// As a user writes one.
class Negated final : public ForwardingDataset {
 public:
  using ForwardingDataset::ForwardingDataset;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    inner().read(samples, inputs, targets);
    for (std::int64_t i = 0; i < inputs.count(); ++i) inputs.data<float>()[i] *= -1.0f;
  }
};

TEST(ForwardingDataset, IsTheOtherButForWhatIsChanged) {
  const InMemoryDataset data(host<float>({2, 1}, {1, 2}), host<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                             {.class_names = {"a", "b", "c"}});
  const Negated negated(data);
  EXPECT_EQ(negated.size(), 2);
  EXPECT_EQ(negated.input_shape(), (Shape{1}));
  EXPECT_EQ(negated.target_shape(), (Shape{3}));
  EXPECT_EQ(negated.target_dtype(), DType::f32);
  EXPECT_EQ(negated.class_names(), data.class_names());
  EXPECT_EQ(negated.block_size(), data.block_size());
  const auto [inputs, targets] = read_samples(negated, {1, 0});
  EXPECT_EQ(inputs.to_vector<float>(), (std::vector<float>{-2, -1}));
  EXPECT_EQ(targets.to_vector<float>(), (std::vector<float>{4, 5, 6, 1, 2, 3}));
  // Or a GPU would be given samples that nothing was changed in.
  EXPECT_EQ(negated.in_memory(), nullptr);
}

}  // namespace
}  // namespace ronde
