/// Options in a file, as --config takes them:
///
///     epochs = 3              # of any program
///     no-augmentation         # a flag: true
///     [train_cifar10]
///     dir = "my results"      # of this one only
#pragma once

#include <string>
#include <vector>

namespace ronde::apps {

struct ConfigLine {
  std::string section;  ///< empty in front of the first one
  std::string name;     ///< of an option; empty: the line begins the section
  std::string value;
  std::string place;  ///< "run.toml:3"
};

/// Lines that say something, in their order. UsageError "--config FILE: ..." if the file cannot be read, and
/// "FILE:3: ..." for a line that is none of these.
std::vector<ConfigLine> read_config_file(const std::string& path);

}  // namespace ronde::apps
