// Batches for a device: the same as for the CPU, whether their inputs are kept on the device or come one by
// one.
#include <ronde/data/augmented_dataset.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/image_data_generator.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/pixel_augmentations.h>
#include <ronde/data/subset.h>
#include <ronde/data/test_time_views.h>

#include "cuda/fake_device.h"

namespace ronde::test {
namespace {

constexpr std::int64_t kSamples = 23;

InMemoryDataset bytes() {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < kSamples; ++i) {
    for (int k = 0; k < 6; ++k) pixels.push_back(static_cast<std::uint8_t>(11 * i + 31 * k));
    labels.push_back(i % 10);
  }
  return {Tensor::from<std::uint8_t>({kSamples, 3, 2, 1}, pixels),
          Tensor::from<std::int32_t>({kSamples}, labels),
          {.scale = 1.0 / 255, .offset = -0.5}};
}

InMemoryDataset values() {
  return {random_tensor(backend("cpu"), {kSamples, 5}, DType::f64, 1),
          random_tensor(backend("cpu"), {kSamples, 2}, DType::f32, 2)};
}

/// Not known to be what its base is.
struct Reversed : InMemoryDataset {
  using InMemoryDataset::InMemoryDataset;
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    std::vector<std::int64_t> others;
    for (const std::int64_t sample : samples) others.push_back(kSamples - 1 - sample);
    InMemoryDataset::read(others, inputs, targets);
  }
};

struct Halved : Augmentation {
  void apply(const Tensor& image, AugmentationRandom&) const override {
    image.backend().unary(UnaryOp::affine, image, image, {.alpha = 0.5});
  }
};

/// Two epochs of batches of 7, the last ones smaller; their inputs, targets and keys behind one another.
std::vector<double> read_all(const Dataset& data, const LoaderOptions& options) {
  DataLoader loader(data, ShardedSampler({.size = data.size(), .global_batch = 7, .seed = 4}), options);
  std::vector<double> all;
  loader.start(0, 8);
  while (const Batch* batch = loader.next())
    for (const Tensor& part : {batch->inputs, batch->targets, batch->sample_keys}) {
      const std::vector<double> numbers = part.to_vector<double>();
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
  return all;
}

/// Whether batches are gathered on the device, which is to give those of the CPU.
bool are_resident(const Dataset& data, LoaderOptions options = {}) {
  const std::vector<double> expected = read_all(data, options);
  bool gathers = false;
  FakeDevice device({.on_launch = [&](const cuda::Call& call) {
    gathers |= call.op == cuda::Op::gather_scaled || call.op == cuda::Op::change_pictures;
  }});
  options.backend = &device.backend;
  EXPECT_EQ(read_all(data, options), expected);
  return gathers;
}

TEST(LoaderOnDevice, KeepsInputsInMemoryThere) {
  EXPECT_TRUE(are_resident(bytes()));
  EXPECT_TRUE(are_resident(bytes(), {.dtype = DType::f64, .threads = 3}));
  EXPECT_TRUE(are_resident(values()));
}

TEST(LoaderOnDevice, KeepsTheFirstSamplesThere) {
  const InMemoryDataset data = bytes();
  const Subset first(data, 9), of_it(first, 5);
  EXPECT_TRUE(are_resident(first, {.resident_bytes = 9 * 6}));
  EXPECT_TRUE(are_resident(of_it));
}

// Bit for bit what the CPU makes.
TEST(LoaderOnDevice, AugmentsThere) {
  const InMemoryDataset data = bytes();
  const Augment generated = image_data_generator({.rotation_range = 20,
                                                  .width_shift_range = 0.3,
                                                  .height_shift_range = 0.3,
                                                  .brightness_range = {{0.5, 1.5}},
                                                  .shear_range = 10,
                                                  .zoom_range = 0.2,
                                                  .horizontal_flip = true,
                                                  .rescale = 2.0});
  EXPECT_TRUE(are_resident(data, {.augmentation = &generated, .threads = 2}));
  EXPECT_TRUE(are_resident(data, {.dtype = DType::f64, .augmentation = &generated}));
  const Augment cropped(
      RandomCrop({.padding = 2, .fill = {.mode = FillMode::reflect}}), AlternatingFlip(),
      Augment(Cutout({.size = 2}), Normalize({.mean = {0.4}, .standard_deviation = {0.2}})));
  EXPECT_TRUE(are_resident(data, {.augmentation = &cropped}));
  EXPECT_TRUE(are_resident(Subset(data, 8), {.augmentation = &cropped}));
  const Normalize of_columns({.mean = {1, 2, 3, 4, 5}, .standard_deviation = {2}});
  EXPECT_TRUE(are_resident(values(), {.augmentation = &of_columns}));
}

TEST(LoaderOnDevice, MakesAnAugmentedDataSetThere) {
  const InMemoryDataset data = bytes();
  const Augment changes(RandomShift({.width_shift_range = 0.4}), Cutout({.size = 1}),
                        Normalize({.mean = {0.4}, .standard_deviation = {0.2}}));
  const AugmentedDataset changed(data, changes, 3);
  EXPECT_TRUE(are_resident(changed, {.threads = 2}));
  EXPECT_TRUE(are_resident(Subset(changed, 8)));
  EXPECT_TRUE(are_resident(AugmentedDataset(Subset(data, 8), changes), {.dtype = DType::f64}));
  // Of two, the first one's picture is rounded before the second.
  EXPECT_FALSE(are_resident(changed, {.augmentation = &changes}));
  EXPECT_FALSE(are_resident(AugmentedDataset(changed, changes)));
  EXPECT_FALSE(are_resident(AugmentedDataset(data, Halved())));
}

// Whatever else a batch has goes in one copy.
TEST(LoaderOnDevice, CopiesOncePerBatchAndItsInputs) {
  const InMemoryDataset data = bytes();
  const Augment there(RandomShift({.width_shift_range = 0.4}));
  const Halved on_host;
  for (const Augmentation* augmentation :
       std::initializer_list<const Augmentation*>{nullptr, &there, &on_host}) {
    FakeDevice device;
    DataLoader loader(data, ShardedSampler({.size = data.size(), .global_batch = 7, .seed = 4}),
                      {.backend = &device.backend, .augmentation = augmentation});
    const std::int64_t copies = augmentation == &on_host ? 2 : 1;
    loader.start(0, 8);
    for (std::int64_t before = device.runtime.uploads(); loader.next() != nullptr;
         before = device.runtime.uploads())
      EXPECT_EQ(device.runtime.uploads(), before + copies);
  }
}

TEST(LoaderOnDevice, LeavesWhatNoKernelMakesToTheHost) {
  const InMemoryDataset data = bytes();
  const Augment twice(RandomShift({.width_shift_range = 0.2}),
                      RandomShift({.width_shift_range = 0.2, .fill = {.mode = FillMode::reflect}}));
  EXPECT_FALSE(are_resident(data, {.augmentation = &twice}));
  const Augment own(RandomShift({.width_shift_range = 0.2}), Halved());
  EXPECT_FALSE(are_resident(data, {.augmentation = &own}));
}

/// Not what Augmentation::plan may do.
struct Moody : PlannedAugmentation {
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override {
    if (random.coin()) changes.multiply(0.5, 0.0, 1.0);
    return true;
  }
};

TEST(LoaderOnDevice, StepsThatDifferAreAnError) {
  const Moody moody;
  FakeDevice device;
  EXPECT_THROW(read_all(bytes(), {.backend = &device.backend, .augmentation = &moody}), Error);
}

TEST(LoaderOnDevice, ViewsAreMadeThere) {
  FakeDevice device;
  const Tensor images = random_tensor(backend("cpu"), {4, 5, 6, 3}, DType::f32, 3);
  for (const TestTimeView& view : shifted_mirror_views(2)) {
    const Tensor seen = view_images(images.to(device.backend), view);
    EXPECT_EQ(&seen.backend(), &device.backend);
    EXPECT_EQ(seen.to_vector<float>(), view_images(images, view).to_vector<float>());
  }
  const Tensor rows = random_tensor(backend("cpu"), {4, 5}, DType::f32, 3);
  const TestTimeView centred{Augment(Normalize({.mean = {0.5}, .standard_deviation = {2}}))};
  EXPECT_EQ(view_images(rows.to(device.backend), centred).to_vector<float>(),
            view_images(rows, centred).to_vector<float>());
  const TestTimeView own{Augment(Halved())};
  EXPECT_EQ(view_images(images.to(device.backend), own).to_vector<float>(),
            view_images(images, own).to_vector<float>());
}

TEST(LoaderOnDevice, LeavesTheRestOnTheHost) {
  EXPECT_FALSE(are_resident(bytes(), {.resident_bytes = kSamples * 6 - 1}));
  const Halved halved;
  EXPECT_FALSE(are_resident(bytes(), {.augmentation = &halved}));
  const InMemoryDataset data = bytes();
  EXPECT_FALSE(are_resident(Reversed(data.inputs(), data.targets(), data.options())));
}

}  // namespace
}  // namespace ronde::test
