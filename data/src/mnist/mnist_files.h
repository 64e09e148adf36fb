/// The four files of a set in MNIST's form, and the sets whose content is known.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

/// In the order in which hashes and arrays are kept.
enum MnistPart { kTrainImages, kTrainLabels, kTestImages, kTestLabels };
inline constexpr std::array<const char*, 4> kMnistParts{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/// SHA-256 of each decompressed file.
struct KnownMnist {
  const char* name;
  std::array<const char*, 4> sha256;
  std::vector<std::string> class_names;
};

/// MNIST first.
const std::vector<KnownMnist>& known_mnist_sets();

/// The SHA-256 that a u8 array has as a plain IDX file, whatever file it came from.
std::string idx_sha256(const Tensor& array);

}  // namespace ronde::inline v0
