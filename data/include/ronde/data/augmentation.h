/// Augmentations: random changes to training pictures.
///
///     Augment augment(RandomShift({.width_shift_range = 0.1, .height_shift_range = 0.1}),
///                     RandomFlip({.horizontal_flip = true}), Cutout({.size = 8}));
///     model.fit(train, {.augmentation = &augment});
///
/// The ready ones are in geometric_augmentations.h and pixel_augmentations.h; image_data_generator.h takes
/// Keras' options. Derive from Augmentation for one of your own; it makes random numbers with the given
/// AugmentationRandom alone, which is counter-based: a picture depends on the run's seed, the pass over the
/// data, the sample's index and the operation's place in the chain, not on ranks, threads or the order of
/// calls.
///
/// Thread safety: `apply` is called by several threads at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ronde/core/philox.h>
#include <ronde/core/picture_changes.h>
#include <ronde/core/tensor.h>
#include <ronde/data/sampler.h>

namespace ronde::inline v0 {

/// The random numbers of one operation for one sample in one pass.
class RONDE_API AugmentationRandom {
 public:
  AugmentationRandom(std::uint64_t seed, SampleKey sample)
      : key_(random_key(seed, hash_name("augmentation"))), sample_(sample) {}

  /// An independent stream: for step number `stage` of a chain.
  AugmentationRandom stream(std::uint64_t stage) const {
    AugmentationRandom other = *this;
    other.key_ = random_key(key_, stage);
    other.block_ = 0;
    return other;
  }
  /// The same numbers in each pass over the data.
  AugmentationRandom of_all_epochs() const {
    AugmentationRandom other = *this;
    other.sample_.epoch = -1;
    return other;
  }
  /// Which pass over the data this is, from 0.
  std::int64_t epoch() const { return sample_.epoch; }
  /// In [low, high), with 53 bits.
  double uniform(double low, double high);
  /// One of 0 ... count - 1.
  std::int64_t below(std::int64_t count);
  /// True every other time.
  bool coin() { return uniform(0.0, 1.0) < 0.5; }

 private:
  std::uint64_t key_;
  SampleKey sample_;
  std::uint64_t block_ = 0;
};

class RONDE_API Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes one sample in place. `image` has a data set's input_shape(), (h, w, c) for pictures, is f32 or
  /// f64, dense and in host memory.
  virtual void apply(const Tensor& image, AugmentationRandom& random) const = 0;
  /// Adds what `apply` would do with the same random numbers to `changes`, so that a GPU can do it: the same
  /// steps for every sample, whose numbers differ. False: they are none that PictureChanges has, nothing was
  /// added, and batches are made in host memory.
  virtual bool plan(PictureChanges& changes, AugmentationRandom& random) const;
};

/// An augmentation made of the steps of PictureChanges.
class RONDE_API PlannedAugmentation : public Augmentation {
 public:
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override = 0;
  void apply(const Tensor& image, AugmentationRandom& random) const final;
};

/// An augmentation that moves pixels; bilinear interpolation. A chain merges neighbours of equal fill and
/// interpolates once.
class RONDE_API GeometricAugmentation : public PlannedAugmentation {
 public:
  /// Draws the map for a picture of this size.
  virtual AffineMap draw(std::int64_t height, std::int64_t width, AugmentationRandom& random) const = 0;
  /// nullptr: never looks beyond the border (a flip).
  virtual const Fill* fill() const { return nullptr; }
  bool plan(PictureChanges& changes, AugmentationRandom& random) const final;
};

/// Augmentations one after the other. Copies are cheap and share them.
class RONDE_API Augment : public Augmentation {
 public:
  Augment() = default;
  /// Takes the augmentations over.
  template <std::derived_from<Augmentation>... Stages>
  requires(sizeof...(Stages) > 1 ||
           (!std::same_as<Stages, Augment> && ...)) explicit Augment(Stages... stages) {
    (add(std::move(stages)), ...);
  }
  /// Appends an augmentation.
  template <std::derived_from<Augmentation> Stage>
  void add(Stage stage) {
    stages_.push_back(std::make_shared<const Stage>(std::move(stage)));
  }

  void apply(const Tensor& image, AugmentationRandom& random) const override;
  bool plan(PictureChanges& changes, AugmentationRandom& random) const override;

 private:
  std::vector<std::shared_ptr<const Augmentation>> stages_;
};

}  // namespace ronde::inline v0
