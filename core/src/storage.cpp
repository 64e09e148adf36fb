#include <ronde/core/storage.h>

#include <utility>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

Storage::Storage(Backend& backend, std::size_t bytes)
    : backend_(&backend), data_(backend.allocate(bytes)), bytes_(bytes) {}

Storage::Storage(Backend& backend, std::size_t bytes, Once)
    : backend_(&backend), data_(backend.allocate_once(bytes)), bytes_(bytes) {}

Storage::Storage(Backend& backend, void* data, std::size_t bytes, std::shared_ptr<const void> owner)
    : backend_(&backend), data_(data), bytes_(bytes), is_own_(false), owner_(std::move(owner)) {}

Storage::~Storage() {
  if (is_own_) backend_->deallocate(data_, bytes_);
}

}  // namespace ronde::inline v0
