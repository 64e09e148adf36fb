#include "files/file_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace ronde::inline v0 {

FileBuffer::FileBuffer(std::size_t capacity) {
  if (capacity > 0) reserve(capacity);
}

FileBuffer::FileBuffer(FileBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FileBuffer& FileBuffer::operator=(FileBuffer&& other) noexcept {
  FileBuffer old(std::move(*this));
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

FileBuffer::~FileBuffer() {
  if (data_) ::munmap(data_, capacity_);
}

void FileBuffer::reserve(std::size_t capacity) {
  void* memory = data_ ? ::mremap(data_, capacity_, capacity, MREMAP_MAYMOVE)
                       : ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(memory);
  capacity_ = capacity;
}

void FileBuffer::resize(std::size_t size) {
  if (size > capacity_) reserve(std::max(size, capacity_ + capacity_ / 2));
  // What lies behind the end stays zero, as it came from the system.
  if (size < size_) std::memset(data_ + size, 0, size_ - size);
  size_ = size;
}

void FileBuffer::append(std::string_view bytes) {
  const std::size_t end = size_;
  resize(end + bytes.size());
  std::copy(bytes.begin(), bytes.end(), data_ + end);
}

}  // namespace ronde::inline v0
