#include <cstring>
#include <exception>

#include "keras_file/hdf5.h"

namespace ronde::inline v0::hdf5 {

/// The memory that HDF5's memory driver keeps the file in, given to it through these callbacks: the bytes
/// that are the finished file in the end, so that there never are two of them. HDF5 has one block at a time.
struct MemoryFile::Memory {
  FileBuffer bytes;

  static void* allocate(std::size_t size, H5FD_file_image_op_t operation, void* self) {
    return reallocate(nullptr, size, operation, self);
  }
  static void* copy(void* to, const void* from, std::size_t size, H5FD_file_image_op_t, void*) {
    return std::memcpy(to, from, size);
  }
  /// New bytes are zero: what HDF5 leaves out must not depend on what was in this memory before.
  static void* reallocate(void*, std::size_t size, H5FD_file_image_op_t, void* self) {
    FileBuffer& bytes = static_cast<Memory*>(self)->bytes;
    try {
      bytes.resize(size);
    } catch (const std::exception&) {
      return nullptr;  // no exception may cross HDF5
    }
    return bytes.data();
  }
  static herr_t release(void*, H5FD_file_image_op_t, void*) { return 0; }
  // Property lists share this object; MemoryFile owns it.
  static void* share(void* self) { return self; }
  static herr_t forget(void*) { return 0; }
};

MemoryFile::MemoryFile(std::size_t expected_bytes) : memory_(std::make_shared<Memory>()) {
  // With what describes the data, HDF5's rounding, and what is appended to the file later. Where that is
  // not enough it grows.
  constexpr std::size_t kMore = std::size_t{2} << 20;
  memory_->bytes = FileBuffer(expected_bytes + kMore);
  const Handle access = memory_access();
  H5FD_file_image_callbacks_t callbacks{Memory::allocate, Memory::copy,   Memory::reallocate, Memory::release,
                                        Memory::share,    Memory::forget, memory_.get()};
  check(H5Pset_file_image_callbacks(access, &callbacks), "lending memory to HDF5");
  // V110 checksums all metadata, and every HDF5 since 1.10 reads it.
  check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), "choosing the file version");
  const Handle creation = without_times(H5P_FILE_CREATE);
  file_.emplace(H5Fcreate("model.h5", H5F_ACC_TRUNC, creation, access), H5Fclose, "making a file in memory");
}

FileBuffer MemoryFile::close() {
  check(H5Fclose(file_->release()), "closing a file in memory");
  // The memory is larger than the file, whose end the superblock tells (version 2 and 3: at byte 28).
  constexpr std::size_t kEndOfFile = 28;
  std::uint64_t end = 0;
  FileBuffer& bytes = memory_->bytes;
  require<Hdf5Error>(bytes.size() > kEndOfFile + sizeof end, "HDF5: nothing was written to memory");
  std::memcpy(&end, bytes.data() + kEndOfFile, sizeof end);
  require<Hdf5Error>(end <= bytes.size(), "HDF5: the file in memory is incomplete");
  bytes.resize(end);
  return std::move(bytes);
}

}  // namespace ronde::inline v0::hdf5
