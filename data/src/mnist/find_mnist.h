/// Looks for the files of a set in MNIST's form; the places are described in ronde/data/mnist.h.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace ronde::inline v0 {

struct MnistSource {
  std::string path;                  ///< a directory, or mnist.npz
  std::array<std::string, 4> files;  ///< by MnistPart; of an archive four times its path
  bool is_npz = false;
};

/// The first complete set; `directory` may be empty.
std::optional<MnistSource> find_mnist(const std::string& directory);
/// The message when there is none: where it looked, what an incomplete set lacks, what to do.
std::string mnist_not_found(const std::string& directory);

}  // namespace ronde::inline v0
