#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <thread>

#include <ronde/data/augmented_dataset.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/image_data_generator.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/npz.h>

#include "data/testing.h"

namespace ronde {
namespace {

using testing::host;

/// Values without any pattern, in [0, 1).
Tensor picture(const Shape& shape, DType dtype = DType::f64) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.count(); ++i)
    values.push_back(uniform_float(philox(7, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]));
  return host<double>(shape, values).to(dtype);
}

Tensor augmented(const Augmentation& augmentation, const Tensor& image, SampleKey key = {},
                 std::uint64_t seed = 0) {
  const Tensor copy = image.clone();
  AugmentationRandom random(seed, key);
  augmentation.apply(copy, random);
  return copy;
}

void expect_near(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const auto a = actual.to_vector<double>(), b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

// --- an oracle that shares nothing with the implementation: pixel by pixel, in f64

double stored_pixel(const std::vector<double>& image, const Shape& shape, std::int64_t y, std::int64_t x,
                    std::int64_t c, FillMode mode) {
  const auto inside = [mode](std::int64_t i, std::int64_t n) {
    if (mode != FillMode::reflect) return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
  };
  y = inside(y, shape[0]), x = inside(x, shape[1]);
  return image[static_cast<std::size_t>((y * shape[1] + x) * shape[2] + c)];
}

Tensor naive_resample(const Tensor& in, const AffineMap& map, const Fill& fill) {
  const Shape shape = in.shape();
  const auto image = in.to_vector<double>();
  const double cx = static_cast<double>(shape[1] - 1) / 2, cy = static_cast<double>(shape[0] - 1) / 2;
  std::vector<double> out;
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const std::int64_t c = i % shape[2];
    const double x = static_cast<double>(i / shape[2] % shape[1]) - cx;
    const double y = static_cast<double>(i / shape[2] / shape[1]) - cy;
    const double sx = map.xx * x + map.xy * y + map.x0 + cx, sy = map.yx * x + map.yy * y + map.y0 + cy;
    if (fill.mode == FillMode::constant && (sx < 0 || sy < 0 || sx > static_cast<double>(shape[1] - 1) ||
                                            sy > static_cast<double>(shape[0] - 1))) {
      out.push_back(fill.value);
      continue;
    }
    double sum = 0;
    for (const int dy : {0, 1})
      for (const int dx : {0, 1}) {
        const double fy = std::floor(sy) + dy, fx = std::floor(sx) + dx;
        sum += (1 - std::abs(sy - fy)) * (1 - std::abs(sx - fx)) *
               stored_pixel(image, shape, std::llround(fy), std::llround(fx), c, fill.mode);
      }
    out.push_back(sum);
  }
  return host<double>(shape, out);
}

Tensor resampled(const Tensor& in, const AffineMap& map, const Fill& fill = {}) {
  const Tensor out = Tensor::full(in.shape(), 99.0, in.options());
  resample(out, in, map, fill);
  return out;
}

std::vector<Fill> fills() {
  return {{}, {.mode = FillMode::constant, .value = 0.3}, {.mode = FillMode::reflect}};
}

TEST(Resample, IsBilinearInterpolation) {
  AugmentationRandom random(3, {});
  for (const Shape& shape :
       {Shape{9, 7, 3}, Shape{5, 8, 1}, Shape{6, 4, 5}, Shape{1, 1, 2}, Shape{1, 6, 3}}) {
    const Tensor image = picture(shape);
    for (const Fill& fill : fills()) {
      for (int round = 0; round < 20; ++round) {
        const auto draw = [&](double range) { return random.uniform(-range, range); };
        const AffineMap shift{.x0 = draw(9), .y0 = draw(9)};
        const AffineMap mirrored{.xx = -1, .x0 = draw(3), .yy = -1, .y0 = draw(3)};
        const AffineMap zoom{.xx = draw(2), .x0 = draw(3), .yy = draw(2), .y0 = draw(3)};
        const AffineMap any{
            .xx = draw(2), .xy = draw(2), .x0 = draw(3), .yx = draw(2), .yy = draw(2), .y0 = draw(3)};
        for (const AffineMap& map : {shift, mirrored, zoom, any}) {
          expect_near(resampled(image, map, fill), naive_resample(image, map, fill), 1e-12);
          expect_near(resampled(image.to(DType::f32), map, fill), naive_resample(image, map, fill), 1e-5);
        }
      }
    }
  }
}

TEST(Resample, MovesByWholePixelsExactly) {
  const Tensor image = picture({6, 5, 3}, DType::f32);
  for (const Fill& fill : fills())
    for (int x = -12; x <= 12; ++x)
      for (const double sign : {1.0, -1.0}) {
        const AffineMap map{.xx = sign, .x0 = static_cast<double>(x), .yy = -sign, .y0 = 3.0 - x};
        EXPECT_EQ(resampled(image, map, fill).to_vector<float>(),
                  naive_resample(image, map, fill).to(DType::f32).to_vector<float>());
      }
}

TEST(Resample, KeepsAUniformPicture) {
  const Tensor grey = Tensor::full({7, 7, 3}, 0.7, {DType::f32, &backend("cpu")});
  const AffineMap map{.xx = 0.9, .xy = 0.3, .x0 = 1.7, .yx = -0.3, .yy = 1.2, .y0 = 0.4};
  EXPECT_EQ(resampled(grey, map).to_vector<float>(), grey.to_vector<float>());
}

TEST(Resample, RejectsWhatDoesNotFit) {
  EXPECT_THROW(resample(picture({2, 2, 3}), picture({2, 3, 3}), {}), Error);
  EXPECT_THROW(resample(picture({2, 2, 3}), picture({2, 2, 3}, DType::f32), {}), Error);
  EXPECT_THROW(resample(picture({4, 3}), picture({4, 3}), {}), Error);
}

// --- what Keras 2.15 makes of given parameters

AffineMap keras_map(const double* row) {
  const double degree = std::numbers::pi / 180, theta = row[0] * degree, shear = row[3] * degree;
  const AffineMap rotation{
      .xx = std::cos(theta), .xy = -std::sin(theta), .yx = std::sin(theta), .yy = std::cos(theta)};
  return rotation * AffineMap{.x0 = row[1], .y0 = row[2]} *
         AffineMap{.xy = -std::sin(shear), .yy = std::cos(shear)} * AffineMap{.xx = row[4], .yy = row[5]} *
         AffineMap{.xx = row[6] != 0 ? -1.0 : 1.0};
}

void expect_keras_pictures(const char* image, const std::string& kind) {
  const auto golden = read_npz(RONDE_TEST_DATA "/augmentation_keras2.15.0.npz");
  const Tensor& cases = golden.at(kind);
  for (std::int64_t i = 0; i < cases.size(0); ++i) {
    const double* row = cases.data<double>() + i * 9;
    const Fill fill{.mode = row[7] == 0   ? FillMode::nearest
                            : row[7] == 1 ? FillMode::constant
                                          : FillMode::reflect,
                    .value = row[8]};
    SCOPED_TRACE(kind + std::to_string(i));
    expect_near(resampled(golden.at(image), keras_map(row), fill), golden.at(kind + std::to_string(i)), 1e-6);
  }
}

TEST(Keras, ShiftsAndFlips) {
  expect_keras_pictures("image", "shift");
}
TEST(Keras, RotatesShearsAndZooms) {
  expect_keras_pictures("square", "affine");
}

// --- each augmentation against its definition, with the parameters it drew

TEST(Shift, DrawsUniformlyInPartsOrPixels) {
  const RandomShift parts({.width_shift_range = 0.1, .height_shift_range = 0.25});
  const RandomShift pixels({.width_shift_range = 2.0});
  double least = 0, most = 0, sum = 0, squares = 0;
  for (std::int64_t s = 0; s < 4000; ++s) {
    AugmentationRandom random(0, {.sample = s}), again(0, {.sample = s});
    const AffineMap map = parts.draw(32, 20, random);
    least = std::min(least, map.x0), most = std::max(most, map.x0);
    sum += map.x0, squares += map.y0 * map.y0;
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

TEST(Augment, EmptyChangesNothing) {
  const Tensor image = picture({3, 3, 3});
  EXPECT_EQ(augmented(Augment(), image).to_vector<double>(), image.to_vector<double>());
  const Augment idle = image_data_generator({});
  EXPECT_EQ(augmented(idle, image).to_vector<double>(), image.to_vector<double>());
}

Augment everything() {
  return Augment(RandomShift({.width_shift_range = 0.1, .height_shift_range = 0.1}),
                 RandomFlip({.horizontal_flip = true}), RandomBrightness({.brightness_range = {0.8, 1.2}}),
                 Cutout({.size = 3}));
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

// --- in front of the training

InMemoryDataset pictures(std::int64_t size) {
  return {picture({size, 6, 5, 3}, DType::f32),
          host<std::int32_t>({size}, std::vector<std::int32_t>(static_cast<std::size_t>(size), 0))};
}

/// Every sample of the first steps, augmented by the loaders of `world_size` ranks.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> loaded(const Dataset& data,
                                                                            const Augmentation& augmentation,
                                                                            int world_size, DType dtype) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> seen;
  for (int rank = 0; rank < world_size; ++rank) {
    DataLoader loader(data,
                      ShardedSampler({.size = data.size(),
                                      .global_batch = 16,
                                      .rank = rank,
                                      .world_size = world_size,
                                      .passes = 2,
                                      .seed = 4}),
                      {.dtype = dtype, .augmentation = &augmentation});
    loader.start(0, loader.sampler().steps_per_epoch());
    while (const Batch* batch = loader.next())
      for (std::int64_t i = 0; i < batch->size(); ++i) {
        const auto key = batch->sample_keys.slice(0, i, i + 1).to_vector<std::int64_t>();
        seen[{key[0], key[1]}] = batch->inputs.slice(0, i, i + 1).to_vector<double>();
      }
  }
  return seen;
}

TEST(LoaderAugmentation, IsTheSameOnAnyNumberOfRanks) {
  const InMemoryDataset data = pictures(37);
  const Augment augment = everything();
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto alone = loaded(data, augment, 1, dtype);
    ASSERT_EQ(alone.size(), 74u);
    EXPECT_EQ(loaded(data, augment, 2, dtype), alone);
    EXPECT_EQ(loaded(data, augment, 5, dtype), alone);
    for (const auto& [key, values] : alone) {
      const Tensor image = testing::read_samples(data, {key.first}, dtype).first.reshape({6, 5, 3});
      EXPECT_EQ(augmented(augment, image, {key.first, key.second}, 4).to_vector<double>(), values);
    }
  }
}

TEST(LoaderAugmentation, RunsOnManyThreadsAtOnce) {
  const InMemoryDataset data = pictures(37);
  const Augment augment = everything();
  const auto alone = loaded(data, augment, 1, DType::f32);
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] { equal += loaded(data, augment, 1, DType::f32) == alone; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 3);
}

TEST(AugmentedDataset, GivesASampleTheSamePictureAlways) {
  const InMemoryDataset data = pictures(5);
  const Augment augment = everything();
  const AugmentedDataset changed(data, augment, 3);
  EXPECT_EQ(changed.input_shape(), data.input_shape());
  EXPECT_EQ(changed.size(), 5);
  const Tensor all = testing::read_samples(changed, {0, 1, 2, 3, 4}).first;
  for (std::int64_t s = 0; s < 5; ++s) {
    const auto one = testing::read_samples(changed, {s}).first.to_vector<float>();
    EXPECT_EQ(all.slice(0, s, s + 1).to_vector<float>(), one);
    const Tensor image = testing::read_samples(data, {s}).first.reshape({6, 5, 3});
    EXPECT_EQ(augmented(augment, image, {.sample = s}, 3).to_vector<float>(), one);
  }
}

}  // namespace
}  // namespace ronde
