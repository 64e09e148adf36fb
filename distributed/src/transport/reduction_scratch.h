/// ReductionScratch: memory of a transport's own, for one reduction at a time.
#pragma once

#include <cstdint>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/storage.h>

namespace ronde::inline v0 {

class ReductionScratch {
 public:
  /// Instead of what it had. An Error where there is not so much.
  void reserve(std::int64_t bytes) {
    memory_.reset();
    if (bytes > 0) memory_.emplace(backend("cpu"), static_cast<std::size_t>(bytes));
  }
  /// Room for so many; what was reserved, if that is enough.
  template <class T>
  T* get(std::int64_t count) {
    const std::int64_t bytes = count * std::int64_t{sizeof(T)};
    if (!memory_ || memory_->bytes() < static_cast<std::size_t>(bytes)) reserve(bytes);
    return memory_ ? static_cast<T*>(memory_->data()) : nullptr;
  }

 private:
  std::optional<Storage> memory_;
};

}  // namespace ronde::inline v0
