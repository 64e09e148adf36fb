#include "mnist/mnist_files.h"

#include <ronde/core/sha256.h>

namespace ronde::inline v0 {

const std::vector<KnownMnist>& known_mnist_sets() {
  static const std::vector<KnownMnist> sets{
      {"MNIST",
       {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
      {"Fashion-MNIST",
       {"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
       {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
        "Ankle boot"}},
  };
  return sets;
}

std::string idx_sha256(const Tensor& array) {
  std::string header{'\0', '\0', '\x08', static_cast<char>(array.rank())};
  for (const std::int64_t extent : array.shape())
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(extent >> shift);
  Sha256 hash;
  hash.update(header.data(), header.size());
  hash.update(array.raw(), array.byte_size());
  return hash.hex();
}

}  // namespace ronde::inline v0
