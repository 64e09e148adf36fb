// Pictures of a table, scaled and changed. The CPU's changes are compared with other implementations in
// tests/data; here a backend is, with the CPU.
#include <ronde/core/picture_changes.h>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

constexpr FillMode kFills[] = {FillMode::nearest, FillMode::constant, FillMode::reflect};

using Plan = std::function<void(PictureChanges&, const std::function<double(double)>& draw)>;

/// n rows of numbers drawn by `plan`, and the steps they are for.
struct Planned {
  PictureSteps steps;
  Tensor numbers;
};

Planned planned(const Shape& picture, std::int64_t n, const Plan& plan) {
  PictureChanges changes(picture);
  std::vector<double> numbers;
  std::uint32_t drawn = 0;
  const auto draw = [&](double range) {
    return range * (2.0 * uniform_float(philox(9, {drawn++, 0, 0, 0})[0]) - 1.0);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    changes.clear();
    plan(changes, draw);
    numbers.insert(numbers.end(), changes.numbers().begin(), changes.numbers().end());
  }
  const std::optional<PictureSteps> steps = changes.steps_of_kernel();
  EXPECT_TRUE(steps);
  return {*steps, Tensor::from<double>({n, steps->numbers}, numbers, &oracle())};
}

struct Source {
  Tensor table, indices = {};
  double scale = 1.0, offset = 0.0;
};

Tensor changed(Backend& b, DType dtype, const Source& source, const Shape& picture, const Planned& plan) {
  const std::int64_t n = source.indices.defined() ? source.indices.size(0) : source.table.size(0);
  const Tensor out = Tensor::full(picture.batch_of(n), 99.0, {.dtype = dtype, .backend = &b});
  const Tensor indices = source.indices.defined() ? source.indices.to(b) : Tensor();
  b.change_pictures(out, source.table.to(b), indices, plan.numbers.to(b),
                    {.scale = source.scale, .offset = source.offset, .steps = plan.steps});
  return out;
}

/// As the oracle has them to rounding, and as the CPU makes them in the same type to the last bit.
void expect_same(const Source& source, const Shape& picture, const Planned& plan) {
  const Tensor expected = changed(oracle(), DType::f64, source, picture, plan);
  for_each_setting([&](Backend& b, DType dtype) {
    const Tensor actual = changed(b, dtype, source, picture, plan);
    // A float of a table of doubles, near a step of values or places.
    expect_near_oracle(actual, expected, dtype == DType::f64 ? 1e-13 : 2e-6);
    EXPECT_EQ(actual.to_vector<double>(),
              changed(oracle(), dtype, source, picture, plan).to_vector<double>());
  });
}

Tensor bytes(const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.count(); ++i)
    values.push_back(philox(5, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] % 256);
  return tensor(oracle(), shape, values).to(DType::u8);
}

const Shape kPictures[] = {{9, 7, 3}, {5, 8, 1}, {6, 4, 5}, {1, 1, 2}, {1, 300, 1}};

/// The seven pictures of a table of five.
Source of_bytes(const Shape& picture) {
  return {.table = bytes(picture.batch_of(5)),
          .indices = Tensor::from<std::int32_t>({7}, {3, 0, 4, 4, 2, 1, 0}, &oracle()),
          .scale = 1.0 / 255,
          .offset = 0.25};
}

void expect_same(const Plan& plan) {
  for (const Shape& picture : kPictures) {
    SCOPED_TRACE(to_string(picture));
    expect_same(of_bytes(picture), picture, planned(picture, 7, plan));
  }
}

TEST(Pictures, MovedAlongRowsAndColumns) {
  for (const FillMode mode : kFills) {
    const Fill fill{.mode = mode, .value = 0.3};
    expect_same([&](PictureChanges& c, auto& draw) { c.move({.x0 = draw(9), .y0 = draw(9)}, fill); });
    expect_same([&](PictureChanges& c, auto& draw) {
      c.move({.xx = -1, .x0 = draw(3), .yy = -1, .y0 = draw(3)}, fill);
    });
    expect_same([&](PictureChanges& c, auto& draw) {
      c.move({.xx = draw(2), .x0 = draw(3), .yy = draw(2), .y0 = draw(3)}, fill);
    });
    // By whole pixels.
    expect_same([&](PictureChanges& c, auto& draw) {
      c.move({.xx = draw(1) < 0 ? -1.0 : 1.0, .x0 = std::floor(draw(5)), .y0 = std::floor(draw(5))}, fill);
    });
  }
}

TEST(Pictures, MovedByAnyMap) {
  for (const FillMode mode : kFills)
    expect_same([&](PictureChanges& c, auto& draw) {
      c.move({.xx = draw(2), .xy = draw(2), .x0 = draw(3), .yx = draw(2), .yy = draw(2), .y0 = draw(3)},
             Fill{.mode = mode, .value = -2.0});
    });
}

void change_values(PictureChanges& c, const std::function<double(double)>& draw) {
  const std::int64_t channels = c.picture_shape()[2];
  std::vector<double> means;
  for (std::int64_t i = 0; i < channels; ++i) means.push_back(draw(0.5));
  c.multiply(1.0 + draw(0.5), 0.3, 0.9);
  c.normalize(means, std::vector{1.5});
  const auto top = static_cast<std::int64_t>(draw(9)), left = static_cast<std::int64_t>(draw(9));
  c.cover({.top = top, .bottom = top + 3, .left = left, .right = left + 4}, 0.5);
}

TEST(Pictures, ValuesBeforeAndBehindAMove) {
  const Fill fill{.mode = FillMode::constant, .value = 0.7};
  expect_same([](PictureChanges& c, auto& draw) { change_values(c, draw); });
  expect_same([&](PictureChanges& c, auto& draw) {
    change_values(c, draw);
    c.move({.xx = 0.9, .xy = draw(0.3), .x0 = draw(2)}, fill);
  });
  expect_same([&](PictureChanges& c, auto& draw) {
    change_values(c, draw);
    c.move({.x0 = draw(2), .y0 = draw(2)}, fill);
    change_values(c, draw);
  });
}

TEST(Pictures, NoStepsOnlyScale) {
  expect_same([](PictureChanges&, auto&) {});
}

TEST(Pictures, TablesOfAnyStoredType) {
  const Shape picture{4, 5, 3};
  const Plan moved = [](PictureChanges& c, auto& draw) {
    c.move({.x0 = draw(2), .y0 = draw(2)}, Fill{.mode = FillMode::reflect});
  };
  for (const DType stored : {DType::u8, DType::i32, DType::f32, DType::f64}) {
    SCOPED_TRACE(to_string(stored));
    Source source = of_bytes(picture);
    source.table = source.table.to(stored);
    expect_same(source, picture, planned(picture, 7, moved));
  }
}

TEST(Pictures, OneRowOfNumbersForAllAndPicturesInTheirOrder) {
  const Shape picture{4, 5, 3};
  const Planned one = planned(picture, 1, [](PictureChanges& c, auto&) {
    c.move({.xx = -1.0, .x0 = -1.0}, Fill{.mode = FillMode::reflect});
  });
  expect_same({.table = random(picture.batch_of(6), 1).to(DType::f32)}, picture, one);
  expect_same(of_bytes(picture), picture, one);
}

TEST(Pictures, OutsideTheTableIsAnError) {
  const Shape picture{2, 2, 1};
  const Planned plan = planned(picture, 1, [](PictureChanges&, auto&) {});
  for_each_setting([&](Backend& b, DType dtype) {
    for (const std::int32_t index : {-1, 3}) {
      const Source wrong{.table = bytes(picture.batch_of(3)),
                         .indices = Tensor::from<std::int32_t>({1}, {index}, &oracle())};
      EXPECT_THROW((changed(b, dtype, wrong, picture, plan), b.synchronize()), Error);
    }
  });
}

TEST(Pictures, NoPictures) {
  const Shape picture{2, 2, 1};
  expect_same({.table = bytes(picture.batch_of(3)), .indices = Tensor::empty({0}, {DType::i32, &oracle()})},
              picture, planned(picture, 1, [](PictureChanges&, auto&) {}));
}

}  // namespace
}  // namespace ronde::test
