/// DeviceMemory: addresses that the host cannot touch, and what lies behind them.
///
/// A device address is a place in a range of pages that nobody may read or write; the bytes lie at a fixed
/// distance from it. So the host that reads a device address ends with a fault, as with a GPU, while the fake
/// device sees everything. New and discarded memory holds bytes that make floats NaN. Not thread safe.
#pragma once

#include <cstddef>
#include <map>

namespace ronde::test {

class DeviceMemory {
 public:
  static constexpr std::size_t kAlignment = 256;
  static constexpr int kPoison = 0xFF;

  explicit DeviceMemory(std::size_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// nullptr when less is left.
  void* allocate(std::size_t bytes);
  /// Whether that was the start of a block.
  bool release(void* memory);
  /// Of the block that begins there; 0: none does.
  std::size_t block_size(const void* memory) const;
  /// Whether all of it lies in one block.
  bool contains(const void* memory, std::size_t bytes) const;
  /// Whether the address is one of this device at all.
  bool is_address(const void* memory) const;
  /// Where the bytes behind a device address are.
  void* behind(const void* memory) const;
  std::size_t in_use() const { return in_use_; }

 private:
  std::size_t capacity_, reserved_;
  char* addresses_;
  char* bytes_;
  std::size_t in_use_ = 0;
  std::map<std::size_t, std::size_t> blocks_;  // offset to size
};

}  // namespace ronde::test
