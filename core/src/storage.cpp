#include <ronde/core/storage.h>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

Storage::Storage(Backend& backend, std::size_t bytes)
    : backend_(&backend), data_(backend.allocate(bytes)), bytes_(bytes) {}

Storage::~Storage() {
  backend_->deallocate(data_, bytes_);
}

}  // namespace ronde::inline v0
