#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <span>
#include <utility>

#include "data/augmentation_testing.h"

namespace ronde {
namespace {

using namespace test;

// --- each augmentation against its definition, with the parameters it drew

TEST(Shift, DrawsUniformlyInPartsOrPixels) {
  const RandomShift parts({.width_shift_range = 0.1, .height_shift_range = 0.25});
  const RandomShift pixels({.width_shift_range = 2.0}), one({.width_shift_range = 1.0});
  double least = 0, most = 0, sum = 0, squares = 0;
  for (std::int64_t s = 0; s < 4000; ++s) {
    AugmentationRandom random(0, {.sample = s}), again(0, {.sample = s});
    const AffineMap map = parts.draw(32, 20, random);
    least = std::min(least, map.x0), most = std::max(most, map.x0);
    sum += map.x0, squares += map.y0 * map.y0;
    AugmentationRandom third(0, {.sample = s});
    EXPECT_LE(std::abs(one.draw(32, 20, third).x0), 1.0) << "in Keras 1 is a pixel, not the whole";
    const AffineMap other = pixels.draw(32, 20, again);
    EXPECT_LE(std::abs(other.x0), 2.0);
    EXPECT_EQ(other.y0, 0.0);
  }
  EXPECT_GE(least, -2.0);  // a tenth of 20
  EXPECT_LE(most, 2.0);
  EXPECT_LT(least, -1.95);
  EXPECT_GT(most, 1.95);
  EXPECT_NEAR(sum / 4000, 0.0, 0.1);
  EXPECT_NEAR(squares / 4000, 8.0 * 8.0 / 3, 1.0);  // variance of U(-8, 8), a quarter of 32
}

TEST(Flip, TurnsEveryOtherPictureAndBackAgain) {
  const Tensor image = picture({4, 3, 2}, DType::f32);
  const auto before = image.to_vector<float>();
  const RandomFlip flip({.horizontal_flip = true});
  int flipped = 0;
  for (std::int64_t s = 0; s < 1000; ++s) {
    const auto once = augmented(flip, image, {.sample = s});
    const auto values = once.to_vector<float>();
    if (values == before) continue;
    ++flipped;
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 3; ++x)
        for (std::size_t c = 0; c < 2; ++c)
          ASSERT_EQ(values[(y * 3 + x) * 2 + c], before[(y * 3 + 2 - x) * 2 + c]);
    EXPECT_EQ(augmented(flip, once, {.sample = s}).to_vector<float>(), before);
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(Flip, HorizontalAndVerticalAreIndependent) {
  std::set<std::vector<double>> seen;
  for (std::int64_t s = 0; s < 64; ++s)
    seen.insert(augmented(RandomFlip({.horizontal_flip = true, .vertical_flip = true}), picture({2, 2, 1}),
                          {.sample = s})
                    .to_vector<double>());
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Crop, CutsAPieceOfThePaddedPicture) {
  const Tensor image = picture({5, 6, 3}, DType::f32);
  for (const Fill& fill : fills()) {
    std::set<std::pair<double, double>> seen;
    for (std::int64_t s = 0; s < 300; ++s) {
      const RandomCrop crop({.padding = 2, .fill = fill});
      AugmentationRandom random(0, {.sample = s});
      const AffineMap map = crop.draw(5, 6, random);
      seen.insert({map.x0, map.y0});
      EXPECT_EQ(augmented(crop, image, {.sample = s}).to_vector<float>(),
                naive_resample(image, map, fill).to(DType::f32).to_vector<float>());
    }
    EXPECT_EQ(seen.size(), 25u);  // -2 ... 2 both ways
  }
}

TEST(Ranges, AreKept) {
  for (std::int64_t s = 0; s < 500; ++s) {
    AugmentationRandom random(0, {.sample = s});
    const AffineMap turned = RandomRotation({.rotation_range = 30}).draw(8, 8, random);
    EXPECT_LE(std::abs(std::atan2(turned.yx, turned.xx)), 30 * std::numbers::pi / 180);
    EXPECT_NEAR(turned.xx * turned.yy - turned.xy * turned.yx, 1.0, 1e-12);
    const AffineMap sheared = RandomShear({.shear_range = 10}).draw(8, 8, random);
    EXPECT_LE(std::abs(std::asin(sheared.xy)), 10 * std::numbers::pi / 180);
    const AffineMap zoomed = RandomZoom({.zoom_range = 0.2}).draw(8, 8, random);
    EXPECT_TRUE(zoomed.xx >= 0.8 && zoomed.xx <= 1.2 && zoomed.yy >= 0.8 && zoomed.yy <= 1.2);
    EXPECT_NE(zoomed.xx, zoomed.yy);
    const AffineMap smaller = RandomZoom({.zoom_range = {2.0, 3.0}}).draw(8, 8, random);
    EXPECT_TRUE(smaller.xx >= 2.0 && smaller.xx <= 3.0);
  }
}

TEST(Rotation, TurnsAPictureAboutItsMiddle) {
  // A quarter turn: the output's (x, y) lies at (-y, x) in the input, seen from the middle.
  const Tensor image = picture({5, 5, 1});
  const auto turned = resampled(image, {.xx = 0, .xy = -1, .yx = 1, .yy = 0}).to_vector<double>();
  const auto before = image.to_vector<double>();
  for (std::size_t y = 0; y < 5; ++y)
    for (std::size_t x = 0; x < 5; ++x) EXPECT_EQ(turned[y * 5 + x], before[x * 5 + 4 - y]);
}

TEST(Brightness, MultipliesAndCuts) {
  const Tensor image = picture({4, 4, 3});
  const auto before = image.to_vector<double>();
  std::set<double> factors;
  for (std::int64_t s = 0; s < 50; ++s) {
    const auto after = augmented(RandomBrightness({.brightness_range = {0.5, 2.0}}), image, {.sample = s})
                           .to_vector<double>();
    double factor = 0;  // of the darkest pixel, which is never cut here
    const auto darkest =
        static_cast<std::size_t>(std::min_element(before.begin(), before.end()) - before.begin());
    factor = after[darkest] / before[darkest];
    EXPECT_TRUE(factor >= 0.5 && factor <= 2.0) << factor;
    factors.insert(factor);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(after[i], std::min(1.0, before[i] * factor), 1e-12);
  }
  EXPECT_EQ(factors.size(), 50u);
}

TEST(Cutout, CoversASquareAndItsPartsAtTheBorder) {
  const Tensor image = picture({8, 9, 2});
  const auto before = image.to_vector<double>();
  std::set<std::size_t> areas;
  std::vector<int> hits(72, 0);
  for (std::int64_t s = 0; s < 3000; ++s) {
    const auto after = augmented(Cutout({.size = 4, .value = -1}), image, {.sample = s}).to_vector<double>();
    std::size_t area = 0, top = 99, bottom = 0, left = 99, right = 0;
    for (std::size_t p = 0; p < 72; ++p) {
      const bool covered = after[2 * p] == -1;
      EXPECT_EQ(after[2 * p + 1], covered ? -1 : before[2 * p + 1]);
      if (!covered) {
        EXPECT_EQ(after[2 * p], before[2 * p]);
        continue;
      }
      ++area, ++hits[p];
      top = std::min(top, p / 9), bottom = std::max(bottom, p / 9);
      left = std::min(left, p % 9), right = std::max(right, p % 9);
    }
    EXPECT_EQ(area, (bottom - top + 1) * (right - left + 1));
    areas.insert(area);
  }
  EXPECT_EQ(*areas.rbegin(), 16u);
  EXPECT_EQ(*areas.begin(), 4u);  // its middle is in a corner: 2 x 2 are left
  EXPECT_GT(*std::min_element(hits.begin(), hits.end()), 0);
}

TEST(Normalize, TakesTheMeanAwayAndDivides) {
  const Tensor image = picture({3, 2, 3});
  const auto before = image.to_vector<double>();
  const std::vector<double> mean{0.1, 0.2, 0.3}, deviation{0.5, 0.25, 2.0};
  const auto each = augmented(Normalize({.mean = mean, .standard_deviation = deviation}), image);
  const auto all = augmented(Normalize({.mean = {0.5}, .standard_deviation = {0.5}}), image);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(each.to_vector<double>()[i], (before[i] - mean[i % 3]) / deviation[i % 3], 1e-15);
    EXPECT_NEAR(all.to_vector<double>()[i], (before[i] - 0.5) / 0.5, 1e-15);
  }
  EXPECT_THROW(augmented(Normalize({.mean = {0, 0}, .standard_deviation = {1}}), image), Error);
}

TEST(Augmentations, RejectNonsense) {
  EXPECT_THROW(RandomShift({.width_shift_range = -1}), UsageError);
  EXPECT_THROW(RandomShift({.height_shift_range = INFINITY}), UsageError);
  EXPECT_THROW(RandomCrop({.padding = -1}), UsageError);
  EXPECT_THROW(RandomRotation({.rotation_range = NAN}), UsageError);
  EXPECT_THROW(RandomShear({.shear_range = -1}), UsageError);
  EXPECT_THROW(RandomZoom({.zoom_range = 1.0}), UsageError);
  EXPECT_THROW(RandomZoom({.zoom_range = {1.2, 0.8}}), UsageError);
  EXPECT_THROW(RandomBrightness({.brightness_range = {2, 1}}), UsageError);
  EXPECT_THROW(RandomBrightness({.value_range = {1, 1}}), UsageError);
  EXPECT_THROW(Cutout({.size = 0}), UsageError);
  EXPECT_THROW(Normalize({.mean = {0}}), UsageError);
  EXPECT_THROW(Normalize({.mean = {0}, .standard_deviation = {0}}), UsageError);
  EXPECT_THROW(augmented(RandomFlip({}), picture({4, 3})), Error);
}

// --- chains and keys

TEST(Augment, InterpolatesNeighboursOnce) {
  const Tensor image = picture({9, 8, 3});
  const RandomRotation rotation({.rotation_range = 40});
  const RandomShift shift({.width_shift_range = 0.3, .height_shift_range = 0.3});
  const RandomFlip flip({.horizontal_flip = true});
  const Augment all(rotation, shift, flip);
  for (std::int64_t s = 0; s < 20; ++s) {
    const AugmentationRandom random(0, {.sample = s});
    AffineMap map;
    std::uint64_t stage = 0;
    for (const GeometricAugmentation* one :
         std::initializer_list<const GeometricAugmentation*>{&rotation, &shift, &flip}) {
      AugmentationRandom own = random.stream(stage++);
      map = map * one->draw(9, 8, own);
    }
    expect_near(augmented(all, image, {.sample = s}), naive_resample(image, map, {}), 1e-12);
  }
}

TEST(Augment, DoesOthersInTheirOrder) {
  const Tensor image = picture({6, 6, 1});
  const RandomCrop black({.padding = 3}), grey({.padding = 3, .fill = {FillMode::constant, 0.5}});
  const Cutout cutout({.size = 2});
  const Augment chain(black, grey, cutout, RandomFlip({.horizontal_flip = true}));
  for (std::int64_t s = 0; s < 10; ++s) {
    Tensor step_by_step = image.clone();
    const AugmentationRandom random(0, {.sample = s});
    const RandomFlip flip({.horizontal_flip = true});
    std::uint64_t stage = 0;
    for (const Augmentation* one :
         std::initializer_list<const Augmentation*>{&black, &grey, &cutout, &flip}) {
      AugmentationRandom own = random.stream(stage++);
      one->apply(step_by_step, own);
    }
    EXPECT_EQ(augmented(chain, image, {.sample = s}).to_vector<double>(), step_by_step.to_vector<double>());
  }
}

/// One of a user's own, which plans nothing.
struct Squared : Augmentation {
  void apply(const Tensor& image, AugmentationRandom& random) const override {
    const double factor = random.uniform(0.5, 1.0);
    for (double& value : std::span(image.data<double>(), static_cast<std::size_t>(image.count())))
      value *= factor * value;
  }
};

TEST(Augment, MayHoldChainsAndOnesOwn) {
  const Tensor image = picture({6, 6, 1});
  const RandomShift shift({.width_shift_range = 0.3});
  const RandomBrightness bright({.brightness_range = {0.5, 1.5}});
  const Squared squared;
  const Augment inner(bright, squared), chain(shift, inner, bright);
  for (std::int64_t s = 0; s < 10; ++s) {
    const Tensor expected = image.clone();
    const AugmentationRandom random(0, {.sample = s});
    const std::pair<const Augmentation*, AugmentationRandom> steps[] = {
        {&shift, random.stream(0)},
        {&bright, random.stream(1).stream(0)},
        {&squared, random.stream(1).stream(1)},
        {&bright, random.stream(2)}};
    for (auto [one, own] : steps) one->apply(expected, own);
    EXPECT_EQ(augmented(chain, image, {.sample = s}).to_vector<double>(), expected.to_vector<double>());
  }
  PictureChanges changes(image.shape());
  AugmentationRandom random(0, {});
  EXPECT_FALSE(inner.plan(changes, random));
  EXPECT_TRUE(changes.steps().empty());
}

TEST(Augment, EmptyChangesNothing) {
  const Tensor image = picture({3, 3, 3});
  EXPECT_EQ(augmented(Augment(), image).to_vector<double>(), image.to_vector<double>());
  const Augment idle = image_data_generator({});
  EXPECT_EQ(augmented(idle, image).to_vector<double>(), image.to_vector<double>());
}

TEST(Augment, DependsOnSeedPassSampleAndStageOnly) {
  const Tensor image = picture({8, 8, 3}, DType::f32);
  const Augment augment = everything();
  const auto values = [&](SampleKey key, std::uint64_t seed) {
    return augmented(augment, image, key, seed).to_vector<float>();
  };
  EXPECT_EQ(values({5, 1}, 9), values({5, 1}, 9));
  EXPECT_NE(values({5, 1}, 9), values({6, 1}, 9));
  EXPECT_NE(values({5, 1}, 9), values({5, 2}, 9));
  EXPECT_NE(values({5, 1}, 9), values({5, 1}, 8));
  const AugmentationRandom random(9, {5, 1});
  AugmentationRandom first = random.stream(0), second = random.stream(1);
  EXPECT_NE(first.uniform(0, 1), second.uniform(0, 1));
}

TEST(Augment, GivesDoublesTheSameDraws) {
  for (std::int64_t s = 0; s < 10; ++s)
    expect_near(augmented(everything(), picture({8, 8, 3}, DType::f32), {.sample = s}),
                augmented(everything(), picture({8, 8, 3}), {.sample = s}), 1e-6);
}

TEST(ImageDataGenerator, IsThatChain) {
  const Tensor image = picture({8, 8, 3});
  const Fill fill{.mode = FillMode::reflect};
  const Augment generator = image_data_generator({.rotation_range = 10,
                                                  .width_shift_range = 0.2,
                                                  .brightness_range = {{0.5, 1.5}},
                                                  .zoom_range = 0.1,
                                                  .fill_mode = FillMode::reflect,
                                                  .vertical_flip = true,
                                                  .rescale = 0.5});
  const Augment chain(RandomRotation({.rotation_range = 10, .fill = fill}),
                      RandomShift({.width_shift_range = 0.2, .fill = fill}), RandomShear({.fill = fill}),
                      RandomZoom({.zoom_range = 0.1, .fill = fill}), RandomFlip({.vertical_flip = true}),
                      RandomBrightness({.brightness_range = {0.5, 1.5}}),
                      Normalize({.mean = {0.0}, .standard_deviation = {2.0}}));
  for (std::int64_t s = 0; s < 10; ++s)
    EXPECT_EQ(augmented(generator, image, {.sample = s}).to_vector<double>(),
              augmented(chain, image, {.sample = s}).to_vector<double>());
}

}  // namespace
}  // namespace ronde
