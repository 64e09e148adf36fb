#include <algorithm>

#include <ronde/data/augmentation.h>

namespace ronde::inline v0 {

double AugmentationRandom::uniform(double low, double high) {
  const Philox4 words = sample_bits(key_, static_cast<std::uint64_t>(sample_.sample),
                                    static_cast<std::uint64_t>(sample_.epoch), block_++);
  return low + (high - low) * uniform_double(words[0], words[1]);
}

std::int64_t AugmentationRandom::below(std::int64_t count) {
  return std::min(count - 1, static_cast<std::int64_t>(uniform(0.0, static_cast<double>(count))));
}

}  // namespace ronde::inline v0
