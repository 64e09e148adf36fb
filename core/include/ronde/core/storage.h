/// Storage: one block of memory that belongs to a backend. Tensors share it.
#pragma once

#include <cstddef>
#include <memory>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

class Backend;

class RONDE_API Storage {
 public:
  Storage(Backend& backend, std::size_t bytes);
  /// Its memory goes back to the system: Backend::allocate_once.
  struct Once {};
  Storage(Backend& backend, std::size_t bytes, Once);
  /// Memory that `owner` keeps alive, usable by `backend`; let go of with the storage. Without an owner the
  /// caller keeps it alive, and frees it.
  Storage(Backend& backend, void* data, std::size_t bytes, std::shared_ptr<const void> owner);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Backend& backend() const { return *backend_; }
  /// Whether the memory is the backend's.
  bool is_own() const { return is_own_; }

 private:
  Backend* backend_;
  void* data_;
  std::size_t bytes_;
  bool is_own_ = true;
  std::shared_ptr<const void> owner_;  // of memory that is not the backend's
};

}  // namespace ronde::inline v0
