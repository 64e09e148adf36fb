#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <ronde/data/npz.h>

#include "data/augmentation_testing.h"

namespace ronde {
namespace {

using namespace test;

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

}  // namespace
}  // namespace ronde
