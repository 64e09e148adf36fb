#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "keras_file/hdf5.h"

namespace ronde::inline v0::hdf5 {

/// The memory that HDF5's memory driver keeps the file in, given to it through these callbacks. What it frees
/// when it closes the file is the finished file.
struct MemoryFile::Memory {
  std::size_t size = 0;
  std::string bytes;

  static void* allocate(std::size_t size, H5FD_file_image_op_t, void* self) {
    static_cast<Memory*>(self)->size = size;
    return std::calloc(size, 1);
  }
  static void* copy(void* to, const void* from, std::size_t size, H5FD_file_image_op_t, void*) {
    return std::memcpy(to, from, size);
  }
  static void* reallocate(void* old, std::size_t size, H5FD_file_image_op_t, void* self) {
    auto* memory = static_cast<Memory*>(self);
    void* larger = std::realloc(old, size);
    // Bytes that HDF5 leaves out must not depend on what was in this memory before.
    if (larger && size > memory->size)
      std::memset(static_cast<char*>(larger) + memory->size, 0, size - memory->size);
    if (larger) memory->size = size;
    return larger;
  }
  static herr_t release(void* data, H5FD_file_image_op_t operation, void* self) {
    auto* memory = static_cast<Memory*>(self);
    if (operation == H5FD_FILE_IMAGE_OP_FILE_CLOSE && data) {
      constexpr std::size_t kTrailer = 256;  // what is appended later must not cost a second copy of the file
      memory->bytes.reserve(memory->size + kTrailer);
      memory->bytes.assign(static_cast<char*>(data), memory->size);
    }
    std::free(data);
    return 0;
  }
  // Property lists share this object; MemoryFile owns it.
  static void* share(void* self) { return self; }
  static herr_t forget(void*) { return 0; }
};

MemoryFile::MemoryFile() : memory_(std::make_shared<Memory>()) {
  const Handle access = memory_access();
  H5FD_file_image_callbacks_t callbacks{Memory::allocate, Memory::copy,   Memory::reallocate, Memory::release,
                                        Memory::share,    Memory::forget, memory_.get()};
  check(H5Pset_file_image_callbacks(access, &callbacks), "lending memory to HDF5");
  // V110 checksums all metadata, and every HDF5 since 1.10 reads it.
  check(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110), "choosing the file version");
  const Handle creation = without_times(H5P_FILE_CREATE);
  file_.emplace(H5Fcreate("model.h5", H5F_ACC_TRUNC, creation, access), H5Fclose, "making a file in memory");
}

std::string MemoryFile::close() {
  check(H5Fclose(file_->release()), "closing a file in memory");
  // The memory is larger than the file, whose end the superblock tells (version 2 and 3: at byte 28).
  constexpr std::size_t kEndOfFile = 28;
  std::uint64_t end = 0;
  std::string& bytes = memory_->bytes;
  require<Hdf5Error>(bytes.size() > kEndOfFile + sizeof end, "HDF5: nothing was written to memory");
  std::memcpy(&end, bytes.data() + kEndOfFile, sizeof end);
  require<Hdf5Error>(end <= bytes.size(), "HDF5: the file in memory is incomplete");
  bytes.resize(end);
  return std::move(bytes);
}

}  // namespace ronde::inline v0::hdf5
