#include <set>

#include <ronde/data/test_time_views.h>

#include "data/augmentation_testing.h"

namespace ronde {
namespace {

using namespace test;

TEST(TestTimeViews, AreThePictureMirroredAndMovedWithAReflectedBorder) {
  const Tensor image = host<double>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  std::vector<std::vector<double>> seen;
  double in_place = 0.0, moved = 0.0;
  const std::vector<TestTimeView> views = shifted_mirror_views(1);
  for (std::size_t i = 0; i < views.size(); ++i) {
    seen.push_back(view_images(image, views[i]).to_vector<double>());
    (i < 2 ? in_place : moved) += views[i].weight;
  }
  EXPECT_EQ(in_place, moved);
  const std::vector<std::vector<double>> expected{
      {1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4},  // in place
      {5, 6, 6, 5, 6, 6}, {6, 6, 5, 6, 6, 5},  // the last row is reflected
      {1, 1, 2, 1, 1, 2}, {2, 1, 1, 2, 1, 1}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(image.to_vector<double>()[0], 1.0) << "the pictures themselves stay";
  EXPECT_THROW(shifted_mirror_views(0), UsageError);
}

TEST(AlternatingFlip, TurnsEachPictureInEveryOtherEpoch) {
  const Tensor image = picture({2, 3, 1});
  const auto before = image.to_vector<double>();
  int begins_flipped = 0;
  for (std::int64_t s = 0; s < 400; ++s) {
    const auto flipped = [&](std::int64_t epoch) {
      return augmented(AlternatingFlip(), image, {.sample = s, .epoch = epoch}).to_vector<double>() != before;
    };
    begins_flipped += flipped(0);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) ASSERT_NE(flipped(epoch), flipped(epoch + 1)) << s;
  }
  EXPECT_NEAR(begins_flipped, 200, 50);
}

}  // namespace
}  // namespace ronde
