#include "keras_file/hdf5_dataset.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include <ronde/core/counted.h>
#include <ronde/core/whole_numbers.h>

namespace ronde::inline v0::hdf5 {

namespace {

/// Deflate cannot do better than about 1032 : 1, so more than that is a lie about the size.
constexpr hsize_t kMaxCompression = 1100;

struct Stored {
  Shape shape;
  DType dtype;
};

/// Refuses whatever could lead out of the file or needs a plug-in; true when the data are compressed.
bool check_storage(const Handle& dataset, const std::string& path) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose, cat("reading ", path));
  require<Hdf5Error>(H5Pget_layout(creation) != H5D_VIRTUAL, path,
                     " is a virtual dataset, which is not read");
  require<Hdf5Error>(H5Pget_external_count(creation) == 0, path, " lies in another file, which is not read");
  bool compressed = false;
  const int filters = check(H5Pget_nfilters(creation), cat("reading ", path));
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    const bool known =
        filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
    require<Hdf5Error>(known, path, " uses filter ", static_cast<int>(filter), ", which is not known");
    compressed = compressed || filter == H5Z_FILTER_DEFLATE;
  }
  return compressed;
}

Stored check_shape(const Handle& dataset, const std::string& path, bool compressed) {
  const Handle type(H5Dget_type(dataset), H5Tclose, cat("reading ", path));
  const Handle space(H5Dget_space(dataset), H5Sclose, cat("reading ", path));
  const H5T_class_t kind = H5Tget_class(type);
  const bool is_bfloat16 = kind == H5T_OPAQUE && H5Tget_size(type) == 2;
  // Integers are what some layers of Keras count; whether a net has such layers its description says.
  require<Hdf5Error>(kind == H5T_FLOAT || kind == H5T_INTEGER || is_bfloat16, path, " does not hold numbers");
  const std::size_t element = H5Tget_size(type);
  require<Hdf5Error>(element <= 8, path, " has elements of ", counted(element, "byte"));
  const int rank = check(H5Sget_simple_extent_ndims(space), cat("reading ", path));
  require<Hdf5Error>(rank <= Shape::kMaxRank, path, " has ", rank, " axes");

  std::array<hsize_t, Shape::kMaxRank> extents{};
  check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), cat("reading ", path));
  const hsize_t available = H5Dget_storage_size(dataset) * (compressed ? kMaxCompression : 1);
  hsize_t room = available / element;  // elements that may still be declared: no product can overflow
  Stored stored{{}, is_bfloat16 ? DType::bf16 : element == 8 ? DType::f64 : DType::f32};
  for (int axis = 0; axis < rank; ++axis) {
    const hsize_t extent = extents[static_cast<std::size_t>(axis)];
    require<Hdf5Error>(extent > 0 && extent <= room, path, " declares more elements than the file holds");
    room /= extent;
    stored.shape.push_back(static_cast<std::int64_t>(extent));
  }
  require<Hdf5Error>(room > 0, path, " holds no data");
  return stored;
}

/// Numbers of two bytes that HDF5 does not know, as h5py writes NumPy's bfloat16 for Keras.
Tensor read_bfloat16(const Handle& dataset, const std::string& path, const Shape& shape) {
  const Handle type(H5Dget_type(dataset), H5Tclose, cat("reading ", path));
  const Tensor values = Tensor::empty(shape, {.dtype = DType::bf16});
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.raw()),
        cat("reading ", path, ", which is damaged,"));
  return values.to(DType::f32);
}

/// HDF5 has a chunk in memory twice while it makes its checksum.
constexpr hsize_t kMostBytesOfChunk = hsize_t{256} << 10;

/// Each chunk is written once, and as a whole.
Handle without_chunk_cache() {
  Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "making access properties");
  check(H5Pset_chunk_cache(access, 0, 0, H5D_CHUNK_CACHE_W0_DEFAULT), "leaving out the cache of chunks");
  return access;
}

/// A part of the first axes, as even as can be, and all of those behind.
std::vector<hsize_t> chunk_of(std::vector<hsize_t> extents, hsize_t element) {
  for (hsize_t& extent : extents) {
    const hsize_t bytes =
        std::accumulate(extents.begin(), extents.end(), element, std::multiplies<hsize_t>());
    if (bytes <= kMostBytesOfChunk) break;
    const hsize_t pieces = std::min(extent, ceil_divide(bytes, kMostBytesOfChunk));
    extent = ceil_divide(extent, pieces);
  }
  return extents;
}

hid_t native_type(DType dtype) {
  if (dtype == DType::i64) return H5T_NATIVE_INT64;
  return dtype == DType::f64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
}

hid_t file_type(DType dtype) {
  if (dtype == DType::i64) return H5T_STD_I64LE;
  return dtype == DType::f64 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE;
}

/// As Keras' variables need it. It cannot be chunked, and so not be checksummed.
void write_scalar(hid_t parent, const std::string& path, const Handle& creation, const Tensor& value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "making a scalar");
  const Handle dataset(
      H5Dcreate2(parent, path.c_str(), file_type(value.dtype()), space, H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose, cat("making ", path));
  check(H5Dwrite(dataset, native_type(value.dtype()), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.raw()),
        cat("writing ", path));
}

/// So many rows at a time; those of an array that nobody else has are given up when they are written.
void write_rows(const Handle& dataset, const std::string& path, const Handle& space,
                std::vector<hsize_t> extents, hsize_t rows, Tensor values) {
  if (!values.is_contiguous()) values = values.contiguous();
  const hsize_t all = extents[0];
  const std::int64_t row = values.count() / static_cast<std::int64_t>(all);
  std::vector<hsize_t> begin(extents.size(), 0);
  for (; begin[0] < all; begin[0] += rows) {
    extents[0] = std::min(rows, all - begin[0]);
    const Handle memory(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
                        cat("writing ", path));
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, extents.data(), nullptr),
          cat("writing ", path));
    const std::int64_t first = static_cast<std::int64_t>(begin[0]) * row;
    const std::int64_t count = static_cast<std::int64_t>(extents[0]) * row;
    const auto* from = static_cast<const std::byte*>(values.raw()) + first * size_of(values.dtype());
    check(H5Dwrite(dataset, native_type(values.dtype()), memory, space, H5P_DEFAULT, from),
          cat("writing ", path));
    values.discard(first, count);
  }
}

}  // namespace

void write_dataset(hid_t parent, const std::string& path, Tensor values) {
  const bool is_scalar = values.rank() == 0;
  require(values.dtype() == DType::f32 || values.dtype() == DType::f64 ||
              (is_scalar && values.dtype() == DType::i64),
          "[save] ", path, " is ", values.dtype());
  if (const auto slash = path.rfind('/'); slash != std::string::npos)
    ensure_group(parent, path.substr(0, slash));
  const Handle creation = without_times(H5P_DATASET_CREATE);
  if (is_scalar) return write_scalar(parent, path, creation, values);
  const std::vector<hsize_t> extents(values.shape().begin(), values.shape().end());
  const int rank = static_cast<int>(extents.size());
  const std::vector<hsize_t> chunk = chunk_of(extents, size_of(values.dtype()));
  check(H5Pset_chunk(creation, rank, chunk.data()), cat("making chunks of ", path));
  check(H5Pset_fletcher32(creation), "asking for checksums");
  const Handle space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose, cat("making ", path));
  const Handle access = without_chunk_cache();
  const Handle dataset(
      H5Dcreate2(parent, path.c_str(), file_type(values.dtype()), space, H5P_DEFAULT, creation, access),
      H5Dclose, cat("making ", path));
  write_rows(dataset, path, space, extents, chunk[0], std::move(values));
}

Tensor read_dataset(hid_t parent, const std::string& path) {
  const Handle dataset = open_object(parent, path);
  require<Hdf5Error>(H5Iget_type(dataset) == H5I_DATASET, path, " is not a dataset");
  const Stored stored = check_shape(dataset, path, check_storage(dataset, path));
  if (stored.dtype == DType::bf16) return read_bfloat16(dataset, path, stored.shape);
  const Tensor values = Tensor::empty_once(stored.shape, {.dtype = stored.dtype});
  check(H5Dread(dataset, native_type(stored.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.raw()),
        cat("reading ", path, ", which is damaged,"));
  return values;
}

}  // namespace ronde::inline v0::hdf5
