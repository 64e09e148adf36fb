// What a picture costs in the loader's thread: CIFAR-10's shape, batches of 32, one thread.
#include <cstdio>
#include <initializer_list>
#include <utility>

#include <ronde/core/backend.h>
#include <ronde/data/data_loader.h>
#include <ronde/data/image_data_generator.h>
#include <ronde/data/in_memory_dataset.h>

#include "stopwatch.h"

using namespace ronde;

namespace {

constexpr std::int64_t kImages = 10'000, kBatch = 32;

/// Microseconds a picture.
double measure(const Dataset& data, const Augmentation* augmentation) {
  const ShardedSampler sampler({.size = kImages, .global_batch = kBatch});
  DataLoader loader(data, sampler, {.augmentation = augmentation});
  double best = 1e30;
  for (int round = 0; round < 5; ++round) {
    loader.start(round * sampler.steps_per_epoch(), sampler.steps_per_epoch());
    const bench::Stopwatch stopwatch;
    while (loader.next()) {
    }
    best = std::min(best, stopwatch.seconds());
  }
  return best * 1e6 / static_cast<double>(kImages);
}

}  // namespace

int main() {
  Tensor pixels = Tensor::empty({kImages, 32, 32, 3}, {DType::u8, &backend("cpu")});
  for (std::int64_t i = 0; i < pixels.count(); ++i)
    pixels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(mix64(static_cast<std::uint64_t>(i)));
  const InMemoryDataset data(pixels, Tensor::zeros({kImages}, {DType::i32, &backend("cpu")}),
                             {.scale = 1.0 / 255});

  const Augment none;
  const Augment shift(RandomShift({.width_shift_range = 0.1, .height_shift_range = 0.1}));
  const Augment flip(RandomFlip({.horizontal_flip = true}));
  const Augment recipe =
      image_data_generator({.width_shift_range = 0.1, .height_shift_range = 0.1, .horizontal_flip = true});
  const Augment crop(RandomCrop(), RandomFlip({.horizontal_flip = true}));
  const Augment rotation(RandomRotation({.rotation_range = 15}));
  const Augment zoom(RandomZoom({.zoom_range = 0.1}));
  const Augment values(RandomBrightness({.brightness_range = {0.8, 1.2}}), Cutout());

  const double gather = measure(data, nullptr);
  std::printf("gather and scale              %6.2f us\n", gather);
  const std::initializer_list<std::pair<const char*, const Augment*>> rows{
      {"nothing", &none},       {"flip", &flip}, {"shift", &shift},       {"shift and flip", &recipe},
      {"crop and flip", &crop}, {"zoom", &zoom}, {"rotation", &rotation}, {"brightness and cutout", &values}};
  for (const auto& [name, augment] : rows)
    std::printf("%-28s +%6.2f us\n", name, measure(data, augment) - gather);
}
