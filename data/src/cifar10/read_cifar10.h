/// Reads the files of a set in CIFAR-10's form: records of a label and three planes of 32 x 32 bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ronde/core/tensor.h>

#include "cifar10/find_cifar10.h"
#include "files/input_file.h"

namespace ronde::inline v0 {

struct Cifar10Images {
  Tensor images;  ///< u8 (n, 32, 32, 3); undefined where pictures stay in their files
  Tensor labels;  ///< u8 (n)
};

struct Cifar10Content {
  Cifar10Images train, test;
  std::array<std::string, 6> sha256;     ///< of each file of kCifar10Files
  std::vector<std::string> class_names;  ///< ten
  /// The files that were read, in the order of kCifar10Files; none of an archive.
  std::vector<std::shared_ptr<const InputFile>> files;
};

enum class Cifar10Pictures { in_memory, in_files };

/// IoError and InputError as of load_cifar10. All is read and checked, wherever the pictures are to stay;
/// those of an archive come into memory.
Cifar10Content read_cifar10(const Cifar10Source& source, Cifar10Pictures pictures);

inline constexpr std::size_t kCifar10Plane = 32 * 32, kCifar10Record = 1 + 3 * kCifar10Plane;

/// Planes (3, 32, 32) to pixels (32, 32, 3).
void interleave_planes(const std::uint8_t* planes, std::uint8_t* pixels);

}  // namespace ronde::inline v0
