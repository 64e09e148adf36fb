/// Reads the files of a set in CIFAR-10's form: records of a label and three planes of 32 x 32 bytes.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/tensor.h>

#include "cifar10/find_cifar10.h"

namespace ronde::inline v0 {

struct Cifar10Images {
  Tensor images;  ///< u8 (n, 32, 32, 3)
  Tensor labels;  ///< u8 (n)
};

struct Cifar10Content {
  Cifar10Images train, test;
  std::array<std::string, 6> sha256;     ///< of each file of kCifar10Files
  std::vector<std::string> class_names;  ///< ten
};

/// IoError and InputError as of load_cifar10.
Cifar10Content read_cifar10(const Cifar10Source& source);

}  // namespace ronde::inline v0
