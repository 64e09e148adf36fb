#include <ronde/core/device.h>

namespace ronde::inline v0 {

std::string to_string(const Device& device) {
  return device.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace ronde::inline v0
