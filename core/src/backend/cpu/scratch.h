/// Scratch: memory that a kernel borrows from its backend's cache while it runs. Not initialised; null if it
/// has no elements.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

template <class T>
class Scratch {
 public:
  Scratch(Backend& backend, std::int64_t count)
      : backend_(backend),
        bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(count > 0 ? static_cast<T*>(backend.allocate(bytes_)) : nullptr) {}
  ~Scratch() {
    if (data_) backend_.deallocate(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return data_; }

 private:
  Backend& backend_;
  std::size_t bytes_;
  T* data_;
};

/// The same, of zeros.
template <class T>
class Zeros : public Scratch<T> {
 public:
  Zeros(Backend& backend, std::int64_t count) : Scratch<T>(backend, count) {
    std::fill_n(this->data(), count, T{});
  }
};

}  // namespace ronde::inline v0
