/// HDF5's C handles as C++ objects. Every failure of the library is an Hdf5Error; it prints nothing.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ronde/core/error.h>

#include "files/file_buffer.h"

namespace ronde::inline v0::hdf5 {

/// What the library refused to do. The reader makes it an InputError with the file's name.
class Hdf5Error : public Error {
 public:
  using Error::Error;
};

/// Throws when an HDF5 function returned a negative value; else returns the value.
template <class T>
T check(T result, std::string_view what) {
  require<Hdf5Error>(result >= 0, "HDF5: ", what, " failed");
  return result;
}

/// Owns one identifier of HDF5.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close, std::string_view what) : id_(check(id, what)), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  operator hid_t() const { return id_; }
  /// Gives the identifier away: it is no longer closed here.
  hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  Close close_;
};

/// While one lives, this thread has the library to itself (many builds of it are not thread-safe) and the
/// library prints no errors.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// Access properties of a file that is kept in memory and never written to disk.
Handle memory_access();
/// Creation properties of this class, without time stamps: equal content is to give equal bytes.
Handle without_times(hid_t property_class);

/// A new file in memory only, with checksummed metadata and without time stamps.
class MemoryFile {
 public:
  /// `expected_bytes`: about as many will be written; it saves memory.
  explicit MemoryFile(std::size_t expected_bytes);
  operator hid_t() const { return *file_; }
  /// Closes the file and returns its bytes. (H5Fget_file_image of HDF5 1.10.8 leaves a wrong checksum in
  /// them.)
  FileBuffer close();

 private:
  struct Memory;
  std::shared_ptr<Memory> memory_;
  std::optional<Handle> file_;
};

/// Opens a file that this process has open, for reading.
Handle open_descriptor(int file);
/// Opens bytes as a file, for reading. They must outlive the handle.
Handle open_image(std::string_view bytes);

/// The group `path` below `parent`, made with those above it where they are missing.
Handle ensure_group(hid_t parent, const std::string& path);
/// Opens what `path` names below `parent` ("/": the root of its file), following hard links only: no other
/// file can be drawn in.
Handle open_object(hid_t parent, const std::string& path);
/// Whether every part of `path` is there.
bool has_object(hid_t parent, const std::string& path);

void write_attribute(hid_t object, const char* name, const std::string& text);
void write_attribute(hid_t object, const char* name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const char* name, std::int64_t value);
void write_attribute(hid_t object, const char* name, std::uint64_t value);
void write_attribute(hid_t object, const char* name, double value);

bool has_attribute(hid_t object, const std::string& name);
/// Text of fixed or variable length.
std::string read_text(hid_t object, const std::string& name);
/// A list of texts; Keras splits long ones over name0, name1, ... A missing or empty one is {}.
std::vector<std::string> read_texts(hid_t object, const std::string& name);
std::int64_t read_int(hid_t object, const std::string& name);
std::uint64_t read_unsigned(hid_t object, const std::string& name);
double read_double(hid_t object, const std::string& name);

}  // namespace ronde::inline v0::hdf5
