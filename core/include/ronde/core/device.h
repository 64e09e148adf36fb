/// Where memory lives and kernels run.
#pragma once

#include <string>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

enum class DeviceType { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

/// "cpu", "cuda:1"
RONDE_API std::string to_string(const Device& device);

}  // namespace ronde::inline v0
