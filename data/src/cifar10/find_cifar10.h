/// Looks for the files of a set in CIFAR-10's form; the places are described in ronde/data/cifar10.h.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace ronde::inline v0 {

/// The files of a set: five of training images, then the test images.
inline constexpr std::array<const char*, 6> kCifar10Files{"data_batch_1.bin", "data_batch_2.bin",
                                                          "data_batch_3.bin", "data_batch_4.bin",
                                                          "data_batch_5.bin", "test_batch.bin"};
inline constexpr std::size_t kCifar10TrainFiles = 5;
inline constexpr const char* kCifar10Names = "batches.meta.txt";
inline constexpr const char* kCifar10Archive = "cifar-10-binary.tar.gz";

struct Cifar10Source {
  std::string path;  ///< a directory that holds all files, or an archive
  bool is_archive = false;
};

/// The first complete set; `directory` may be empty.
std::optional<Cifar10Source> find_cifar10(const std::string& directory);
/// The message when there is none: where it looked, what an incomplete set lacks, what to do.
std::string cifar10_not_found(const std::string& directory);

}  // namespace ronde::inline v0
