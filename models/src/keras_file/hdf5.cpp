#include "keras_file/hdf5.h"

#include <mutex>
#include <optional>

namespace ronde::inline v0::hdf5 {

namespace {

std::recursive_mutex& library_lock() {
  static std::recursive_mutex lock;
  return lock;
}

/// The next part of a path, which is cut off it; empty parts are refused as Keras does.
std::string next_part(std::string_view& path) {
  const auto slash = path.find('/');
  const std::string part(path.substr(0, slash));
  require<Hdf5Error>(!part.empty() && part != "." && part != "..", "\"", path, "\" is no name of an object");
  path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  require<Hdf5Error>(slash == std::string_view::npos || !path.empty(), "a name ends in /");
  return part;
}

}  // namespace

Handle memory_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making file access properties");
  constexpr std::size_t kGrowth = std::size_t{1} << 20;
  check(H5Pset_fapl_core(access, kGrowth, 0), "choosing the memory driver");
  return access;
}

Handle without_times(hid_t property_class) {
  Handle properties(H5Pcreate(property_class), H5Pclose, "making creation properties");
  check(H5Pset_obj_track_times(properties, 0), "leaving out time stamps");
  return properties;
}

Session::Session() {
  library_lock().lock();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() {
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
  library_lock().unlock();
}

namespace {

// Left to itself HDF5 copies the bytes twice, a whole file each. These callbacks lend it the caller's memory.
void* lend(std::size_t, H5FD_file_image_op_t, void* bytes) {
  return bytes;
}
void* already_there(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) {
  return to;
}
herr_t keep(void*, H5FD_file_image_op_t, void*) {
  return 0;
}
void* share(void* bytes) {
  return bytes;
}
herr_t forget(void*) {
  return 0;
}

}  // namespace

Handle open_descriptor(int file) {
  return {H5Fopen(cat("/proc/self/fd/", file).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "opening"};
}

Handle open_image(std::string_view bytes) {
  const Handle access = memory_access();
  auto* memory = const_cast<char*>(bytes.data());  // the library's interface is not const; it only reads
  H5FD_file_image_callbacks_t callbacks{lend, already_there, nullptr, keep, share, forget, memory};
  check(H5Pset_file_image_callbacks(access, &callbacks), "lending the bytes of a file");
  check(H5Pset_file_image(access, memory, bytes.size()), "taking the bytes of a file");
  // HDF5 refuses bytes in memory under the name of a file that exists: this one never does.
  return {H5Fopen("/dev/null/model.h5", H5F_ACC_RDONLY, access), H5Fclose, "opening"};
}

Handle ensure_group(hid_t parent, const std::string& path) {
  // One level at a time: groups that HDF5 makes on the way by itself would carry time stamps.
  const Handle creation = without_times(H5P_GROUP_CREATE);
  std::optional<Handle> group;
  std::string_view rest = path;
  do {
    const hid_t where = group ? hid_t{*group} : parent;
    const std::string part = next_part(rest);
    if (!has_object(where, part))
      Handle(H5Gcreate2(where, part.c_str(), H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose,
             cat("making group ", path));
    group.emplace(open_object(where, part));
  } while (!rest.empty());
  return std::move(*group);
}

Handle open_object(hid_t parent, const std::string& path) {
  if (path == "/") return {H5Oopen(parent, "/", H5P_DEFAULT), H5Oclose, "opening the root"};
  std::string_view rest = path;
  std::string part = next_part(rest);
  const auto open = [&path](hid_t where, const std::string& name) {
    H5L_info_t link;
    check(H5Lget_info(where, name.c_str(), &link, H5P_DEFAULT), cat("finding ", path));
    require<Hdf5Error>(link.type == H5L_TYPE_HARD, path,
                       " is a link to somewhere else, which is not followed");
    return Handle(H5Oopen(where, name.c_str(), H5P_DEFAULT), H5Oclose, cat("opening ", path));
  };
  std::vector<Handle> way;
  way.push_back(open(parent, part));
  while (!rest.empty()) {
    part = next_part(rest);
    require<Hdf5Error>(H5Iget_type(way.back()) == H5I_GROUP, path,
                       " goes through something that is no group");
    way.push_back(open(way.back(), part));
  }
  return std::move(way.back());
}

bool has_object(hid_t parent, const std::string& path) {
  for (auto slash = path.find('/');; slash = path.find('/', slash + 1)) {
    if (check(H5Lexists(parent, path.substr(0, slash).c_str(), H5P_DEFAULT), cat("looking for ", path)) == 0)
      return false;
    if (slash == std::string::npos) return true;
  }
}

}  // namespace ronde::inline v0::hdf5
