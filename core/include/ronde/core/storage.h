/// Storage: one block of memory that belongs to a backend. Tensors share it.
#pragma once

#include <cstddef>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

class Backend;

class RONDE_API Storage {
 public:
  Storage(Backend& backend, std::size_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Backend& backend() const { return *backend_; }

 private:
  Backend* backend_;
  void* data_;
  std::size_t bytes_;
};

}  // namespace ronde::inline v0
