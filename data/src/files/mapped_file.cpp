#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "files/input_file.h"

namespace ronde::inline v0 {

// O_NONBLOCK: opening a pipe must not wait for its writer.
MappedFile::MappedFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!descriptor_.is_open()) fail_system(path_, errno);
  struct stat status {};
  expect(::fstat(descriptor_.get(), &status) == 0 && S_ISREG(status.st_mode), "not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_.get(), 0);
  if (mapped == MAP_FAILED) fail_system(path_, errno, "cannot be mapped: ");
  data_ = static_cast<const unsigned char*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<unsigned char*>(data_), size_);
}

void MappedFile::expect_whole() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail_system(path_, errno);
  expect(static_cast<std::uint64_t>(status.st_size) >= size_, "became shorter while it was read");
}

}  // namespace ronde::inline v0
