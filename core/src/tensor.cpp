#include <ronde/core/tensor.h>

#include <algorithm>
#include <cassert>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/storage.h>

namespace ronde::inline v0 {

namespace {

std::size_t bytes_for(const Shape& shape, DType dtype) {
  double bytes = static_cast<double>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    require(extent >= 0, "[tensor] extents must not be negative, got ", shape);
    bytes *= static_cast<double>(std::max<std::int64_t>(extent, 1));
  }
  require(bytes < 0x1p62, "[tensor] shape ", shape, " is too large");  // an int64 must hold all counts
  return static_cast<std::size_t>(shape.count()) * size_of(dtype);
}

Backend& backend_of(const TensorOptions& options) {
  return options.backend ? *options.backend : default_backend();
}

}  // namespace

Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept = default;
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept = default;
Tensor::~Tensor() = default;

Tensor Tensor::empty(const Shape& shape, TensorOptions options) {
  const std::size_t bytes = bytes_for(shape, options.dtype);
  return over(std::make_shared<Storage>(backend_of(options), bytes), shape, options.dtype);
}

Tensor Tensor::empty_once(const Shape& shape, TensorOptions options) {
  const std::size_t bytes = bytes_for(shape, options.dtype);
  return over(std::make_shared<Storage>(backend_of(options), bytes, Storage::Once()), shape, options.dtype);
}

Tensor Tensor::zeros_once(const Shape& shape, TensorOptions options) {
  const Tensor tensor = empty_once(shape, options);
  if (!tensor.backend().gives_zeros(tensor.byte_size())) tensor.fill(0.0);
  return tensor;
}

Tensor Tensor::over_host(void* values, const Shape& shape, DType dtype, std::shared_ptr<const void> owner) {
  const std::size_t bytes = bytes_for(shape, dtype);
  require(values != nullptr || bytes == 0, "[tensor] memory for shape ", shape, " is null");
  return over(std::make_shared<Storage>(default_backend(), values, bytes, std::move(owner)), shape, dtype);
}

Tensor Tensor::over(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype) {
  return over(std::move(storage), shape, row_major_strides(shape), dtype);
}

Tensor Tensor::over(std::shared_ptr<Storage> storage, const Shape& shape, const Shape& strides, DType dtype) {
  require(strides.rank() == shape.rank(), "[tensor] strides ", strides, " for shape ", shape);
  std::int64_t elements = shape.count() > 0 ? 1 : 0;  // up to the last one that is reached
  for (int i = 0; i < shape.rank() && elements > 0; ++i) {
    require(strides[i] >= 0, "[tensor] strides must not be negative, got ", strides);
    std::int64_t step = 0;
    require(!__builtin_mul_overflow(shape[i] - 1, strides[i], &step) &&
                !__builtin_add_overflow(elements, step, &elements),
            "[tensor] strides ", strides, " for shape ", shape, " reach too far");
  }
  std::size_t bytes = 0;
  require(!__builtin_mul_overflow(static_cast<std::size_t>(elements), size_of(dtype), &bytes),
          "[tensor] strides ", strides, " for shape ", shape, " reach too far");
  require(storage && bytes <= storage->bytes(), "[tensor] ", shape, " of ", dtype, " needs ",
          counted(bytes, "byte"), ", more than the storage has");
  Tensor t;
  t.shape_ = shape;
  t.strides_ = strides;
  t.dtype_ = dtype;
  t.storage_ = std::move(storage);
  return t;
}

Tensor Tensor::zeros(const Shape& shape, TensorOptions options) {
  return full(shape, 0.0, options);
}

Tensor Tensor::full(const Shape& shape, double value, TensorOptions options) {
  Tensor t = empty(shape, options);
  t.fill(value);
  return t;
}

Tensor Tensor::empty_like(const Tensor& like) {
  return empty(like.shape(), like.options());
}

Tensor Tensor::from_bytes(const Shape& shape, TensorOptions options, const void* values, std::size_t count) {
  require(static_cast<std::int64_t>(count) == shape.count(), "[tensor] shape ", shape, " holds ",
          counted(shape.count(), "element"), ", got ", count);
  Tensor t = empty(shape, options);
  t.backend().copy_from_host(t.raw(), values, t.byte_size());
  return t;
}

Backend& Tensor::backend() const {
  require(defined(), "[tensor] used before it was given a value");
  return storage_->backend();
}

TensorOptions Tensor::options() const {
  return {.dtype = dtype_, .backend = &backend()};
}

void* Tensor::raw() const {
  require(defined(), "[tensor] used before it was given a value");
  return static_cast<char*>(storage_->data()) + offset_ * static_cast<std::int64_t>(size_of(dtype_));
}

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != step) return count() == 0;
    step *= shape_[i];
  }
  return true;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  require(axis >= -rank() && axis < rank(), "[slice] axis ", axis, " of shape ", shape_);
  require(0 <= begin && begin <= end && end <= shape_[axis], "[slice] elements ", begin, " to ", end,
          " of axis ", axis, " of shape ", shape_);
  Tensor t = *this;
  t.offset_ += begin * strides_[axis];
  t.shape_[axis] = end - begin;
  return t;
}

Tensor Tensor::permute(const Shape& axes) const {
  require(axes.rank() == rank(), "[permute] axes ", axes, " for shape ", shape_);
  Tensor t = *this;
  std::array<bool, Shape::kMaxRank> seen{};
  for (int i = 0; i < rank(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank() : axes[i];
    require(axis >= 0 && axis < rank() && !seen[static_cast<std::size_t>(axis)], "[permute] axes ", axes,
            " for shape ", shape_);
    seen[static_cast<std::size_t>(axis)] = true;
    t.shape_[i] = shape_[static_cast<int>(axis)];
    t.strides_[i] = strides_[static_cast<int>(axis)];
  }
  return t;
}

Tensor Tensor::broadcast_to(const Shape& shape) const {
  require(broadcast_shapes(shape_, shape) == shape, "[broadcast] shape ", shape_, " does not fit into ",
          shape);
  const int lead = shape.rank() - rank();
  Tensor t = *this;
  t.shape_ = shape;
  t.strides_ = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool stretched = i < lead || (shape_[i - lead] == 1 && shape[i] != 1);
    t.strides_[i] = stretched ? 0 : strides_[i - lead];
  }
  return t;
}

namespace {

// Replaces an extent of -1 by what is left. Extents of 0 are left out on both sides, so that a batch of no
// images flattens like any other: (0, 5, 5, 2) as (0, -1) is (0, 50).
Shape resolve_extent(const Shape& from, Shape shape) {
  std::int64_t left = 1;
  for (const std::int64_t extent : from) left *= std::max<std::int64_t>(extent, 1);
  int unknown = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 && unknown < 0)
      unknown = i;
    else if (shape[i] > 0)
      left /= shape[i];
  }
  if (unknown >= 0) shape[unknown] = from.count() == 0 && shape.count() != 0 ? 0 : left;
  return shape;
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape) const {
  const Shape resolved = resolve_extent(shape_, shape);
  require(std::all_of(resolved.begin(), resolved.end(), [](std::int64_t extent) { return extent >= 0; }) &&
              resolved.count() == count(),
          "[reshape] ", shape_, " does not fit into ", shape);
  Tensor t = contiguous();
  t.shape_ = resolved;
  t.strides_ = row_major_strides(resolved);
  return t;
}

Tensor Tensor::view(std::int64_t offset, const Shape& shape) const {
  require(is_contiguous(), "[view] of a tensor that is not contiguous");
  const bool has_extents = std::all_of(shape.begin(), shape.end(), [](std::int64_t e) { return e >= 0; });
  require(has_extents && offset >= 0 && offset <= count() && shape.count() <= count() - offset, "[view] ",
          shape, " at ", offset, " of ", shape_);
  Tensor t = *this;
  t.offset_ += offset;
  t.shape_ = shape;
  t.strides_ = row_major_strides(shape);
  return t;
}

Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::clone() const {
  Tensor t = empty_like(*this);
  backend().copy(t, *this);
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t = empty(shape_, {.dtype = dtype, .backend = &backend()});
  backend().copy(t, *this);
  return t;
}

Tensor Tensor::to(Backend& target) const {
  if (&target == &backend()) return *this;
  Tensor t = empty(shape_, {.dtype = dtype_, .backend = &target});
  t.copy_from(*this);
  return t;
}

void Tensor::discard(std::int64_t begin, std::int64_t count) const {
  if (storage_.use_count() != 1 || !storage_->is_own()) return;
  const std::size_t element = size_of(dtype_);
  backend().discard(static_cast<std::byte*>(raw()) + static_cast<std::size_t>(begin) * element,
                    static_cast<std::size_t>(count) * element);
}

namespace {

/// Where its elements end; it has some.
const std::byte* end_of(const Tensor& tensor) {
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.rank(); ++i) elements += (tensor.size(i) - 1) * tensor.strides()[i];
  return static_cast<const std::byte*>(tensor.raw()) +
         static_cast<std::size_t>(elements) * size_of(tensor.dtype());
}

/// Whether a copy from one to the other, of the same shape, might read what it has written.
bool may_overlap(const Tensor& a, const Tensor& b) {
  return a.count() > 0 && a.raw() < end_of(b) && b.raw() < end_of(a);
}

}  // namespace

void Tensor::copy_from(const Tensor& source) const {
  require(source.shape() == shape_, "[copy] from shape ", source.shape(), " to shape ", shape_);
  if (source.backend().device() == backend().device())
    return backend().copy(*this, may_overlap(*this, source) ? source.clone() : source);
  if (source.dtype() == dtype_ && source.is_contiguous() && is_contiguous()) {
    if (source.backend().device().type == DeviceType::cpu)
      return backend().copy_from_host(raw(), source.raw(), byte_size());
    if (backend().device().type == DeviceType::cpu)
      return source.backend().copy_to_host(raw(), source.raw(), byte_size());
  }
  // Between devices: dense bytes through host memory.
  const Tensor dense = source.contiguous();
  std::vector<char> host(dense.byte_size());
  dense.backend().copy_to_host(host.data(), dense.raw(), host.size());
  const Tensor here = empty(shape_, {.dtype = source.dtype(), .backend = &backend()});
  backend().copy_from_host(here.raw(), host.data(), host.size());
  backend().copy(*this, here);
}

void Tensor::fill(double value) const {
  backend().fill(*this, value);
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor dense = to(dtype_of<T>).contiguous();
  std::vector<T> values(static_cast<std::size_t>(count()));
  backend().copy_to_host(values.data(), dense.raw(), dense.byte_size());
  return values;
}

template RONDE_API std::vector<float> Tensor::to_vector() const;
template RONDE_API std::vector<double> Tensor::to_vector() const;
template RONDE_API std::vector<bfloat16> Tensor::to_vector() const;
template RONDE_API std::vector<std::uint8_t> Tensor::to_vector() const;
template RONDE_API std::vector<std::int32_t> Tensor::to_vector() const;
template RONDE_API std::vector<std::int64_t> Tensor::to_vector() const;

double Tensor::item() const {
  require(!defined() || count() == 1, "[item] of a tensor with ", counted(count(), "element"));
  return to_vector<double>().front();
}

std::string to_string(const Tensor& tensor) {
  return tensor.defined() ? cat(tensor.dtype(), " ", tensor.shape()) : "undefined";
}

}  // namespace ronde::inline v0
