#include <algorithm>
#include <cstring>

#include <ronde/core/counted.h>

#include "keras_file/hdf5.h"

namespace ronde::inline v0::hdf5 {

namespace {

Handle scalar_space() {
  return {H5Screate(H5S_SCALAR), H5Sclose, "making a scalar"};
}

Handle variable_text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "making a text type");
  check(H5Tset_size(type, H5T_VARIABLE), "making a text type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "making a text type");
  return type;
}

void write(hid_t object, const char* name, hid_t file_type, hid_t memory_type, const Handle& space,
           const void* value) {
  const Handle attribute(H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         cat("making attribute ", name));
  if (value != nullptr) check(H5Awrite(attribute, memory_type, value), cat("writing attribute ", name));
}

/// An attribute being read, with its type and number of elements.
struct Attribute {
  Attribute(hid_t object, const std::string& name)
      : label(cat("attribute ", name)),
        id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, cat("opening ", label)),
        type(H5Aget_type(id), H5Tclose, cat("reading ", label)),
        space(H5Aget_space(id), H5Sclose, cat("reading ", label)),
        count(check(H5Sget_simple_extent_npoints(space), cat("reading ", label))) {}

  std::string label;
  Handle id, type, space;
  hssize_t count;
};

std::vector<std::string> read_variable_texts(const Attribute& attribute) {
  const Handle type(H5Tcopy(attribute.type), H5Tclose, "copying a type");
  std::vector<char*> pointers(static_cast<std::size_t>(attribute.count), nullptr);
  check(H5Aread(attribute.id, type, pointers.data()), cat("reading ", attribute.label));
  std::vector<std::string> texts;
  for (const char* text : pointers) texts.emplace_back(text ? text : "");
  check(H5Dvlen_reclaim(type, attribute.space, H5P_DEFAULT, pointers.data()), "freeing texts");
  return texts;
}

std::vector<std::string> read_fixed_texts(const Attribute& attribute) {
  const std::size_t size = H5Tget_size(attribute.type);
  std::vector<char> buffer(size * static_cast<std::size_t>(attribute.count));
  check(H5Aread(attribute.id, attribute.type, buffer.data()), cat("reading ", attribute.label));
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < buffer.size(); begin += size) {
    std::string text(buffer.data() + begin, ::strnlen(buffer.data() + begin, size));
    if (H5Tget_strpad(attribute.type) == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> read_all_texts(hid_t object, const std::string& name) {
  const Attribute attribute(object, name);
  if (attribute.count == 0) return {};  // NumPy makes an empty list one of floats
  require<Hdf5Error>(H5Tget_class(attribute.type) == H5T_STRING, attribute.label, " is not text");
  return H5Tis_variable_str(attribute.type) > 0 ? read_variable_texts(attribute)
                                                : read_fixed_texts(attribute);
}

template <class T>
T read_number(hid_t object, const std::string& name, hid_t memory_type) {
  const Attribute attribute(object, name);
  require<Hdf5Error>(attribute.count == 1, attribute.label, " holds ", counted(attribute.count, "value"),
                     ", not one");
  T value{};
  check(H5Aread(attribute.id, memory_type, &value), cat("reading ", attribute.label));
  return value;
}

}  // namespace

void write_attribute(hid_t object, const char* name, const std::string& text) {
  const Handle type = variable_text_type();
  const char* pointer = text.c_str();
  write(object, name, type, type, scalar_space(), &pointer);
}

void write_attribute(hid_t object, const char* name, const std::vector<std::string>& texts) {
  const Handle type = variable_text_type();
  const hsize_t count = texts.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "making a list");
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  write(object, name, type, type, space, texts.empty() ? nullptr : pointers.data());
}

void write_attribute(hid_t object, const char* name, std::int64_t value) {
  write(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, scalar_space(), &value);
}

void write_attribute(hid_t object, const char* name, std::uint64_t value) {
  write(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, scalar_space(), &value);
}

void write_attribute(hid_t object, const char* name, double value) {
  write(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, scalar_space(), &value);
}

bool has_attribute(hid_t object, const std::string& name) {
  return check(H5Aexists(object, name.c_str()), cat("looking for attribute ", name)) > 0;
}

std::string read_text(hid_t object, const std::string& name) {
  const std::vector<std::string> texts = read_all_texts(object, name);
  require<Hdf5Error>(texts.size() == 1, "attribute ", name, " is not a single text");
  return texts.front();
}

std::vector<std::string> read_texts(hid_t object, const std::string& name) {
  if (has_attribute(object, name)) return read_all_texts(object, name);
  std::vector<std::string> all;
  for (int i = 0; has_attribute(object, cat(name, i)); ++i) {
    const std::vector<std::string> part = read_all_texts(object, cat(name, i));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::int64_t read_int(hid_t object, const std::string& name) {
  return read_number<std::int64_t>(object, name, H5T_NATIVE_INT64);
}

std::uint64_t read_unsigned(hid_t object, const std::string& name) {
  return read_number<std::uint64_t>(object, name, H5T_NATIVE_UINT64);
}

double read_double(hid_t object, const std::string& name) {
  return read_number<double>(object, name, H5T_NATIVE_DOUBLE);
}

}  // namespace ronde::inline v0::hdf5
