/// FileBuffer: the bytes of a file that is being made.
#pragma once

#include <cstddef>
#include <string_view>

namespace ronde::inline v0 {

/// In pages of its own: those that nothing was written to take no memory, and all of them go back to the
/// system when the buffer goes, which a heap may keep.
class FileBuffer {
 public:
  FileBuffer() = default;
  /// Room for so many bytes; more of them than that may move. std::bad_alloc.
  explicit FileBuffer(std::size_t capacity);
  FileBuffer(FileBuffer&& other) noexcept;
  FileBuffer& operator=(FileBuffer&& other) noexcept;
  ~FileBuffer();

  char* data() { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  operator std::string_view() const { return {data_, size_}; }

  /// New bytes are zero. std::bad_alloc.
  void resize(std::size_t size);
  void append(std::string_view bytes);

 private:
  void reserve(std::size_t capacity);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ronde::inline v0
