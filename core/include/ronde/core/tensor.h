/// Tensor: a strided view of a Storage on a device. Cheap to copy, knows nothing of gradients.
///
///     Tensor x = Tensor::zeros({128, 28, 28, 1});            // f32 on the default backend
///     Tensor row = x.slice(0, 3, 4);                         // shares the storage
///     Tensor y = Tensor::from<double>({2, 2}, {1, 2, 3, 4});
///
/// Ownership: a Tensor shares its Storage with every view made of it, and with its copies: `clone` makes one
/// with elements of its own. One that was moved from is undefined. Thread safety: as for std::shared_ptr;
/// the elements themselves are not guarded. Layout of images is NHWC everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/dtype.h>
#include <ronde/core/shape.h>

namespace ronde::inline v0 {

class Backend;
class Storage;

/// What a new tensor is made of; the backend defaults to `default_backend()`.
struct TensorOptions {
  DType dtype = DType::f32;
  Backend* backend = nullptr;
};

class RONDE_API Tensor {
 public:
  /// An undefined tensor: holds nothing, `defined()` is false.
  Tensor() = default;
  // Not inline: there are thousands of places where one ends.
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  /// Dense and row-major; elements are not initialised.
  static Tensor empty(const Shape& shape, TensorOptions options = {});
  /// The same for what is large and seldom, as what a file holds: freed, it goes back to the system.
  static Tensor empty_once(const Shape& shape, TensorOptions options = {});
  /// Such a tensor of zeros. On a CPU, where it is large, it takes no memory before something is written to
  /// it.
  static Tensor zeros_once(const Shape& shape, TensorOptions options = {});
  static Tensor zeros(const Shape& shape, TensorOptions options = {});
  static Tensor full(const Shape& shape, double value, TensorOptions options = {});
  /// A copy of host values, row-major.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values, Backend* backend = nullptr) {
    return from_bytes(shape, {.dtype = dtype_of<T>, .backend = backend}, values.data(), values.size());
  }
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values, Backend* backend = nullptr) {
    return from<T>(shape, std::span<const T>(values), backend);
  }
  template <class T>
  static Tensor from(const Shape& shape, std::initializer_list<T> values, Backend* backend = nullptr) {
    return from<T>(shape, std::span<const T>(values.begin(), values.size()), backend);
  }
  /// Dense and row-major over host memory, of which nothing is copied. `owner` keeps it alive; without one
  /// the caller does, as long as a tensor uses it.
  template <class T>
  static Tensor over(T* values, const Shape& shape, std::shared_ptr<const void> owner = nullptr) {
    return over_host(values, shape, dtype_of<T>, std::move(owner));
  }
  /// Dense and row-major over the beginning of `storage`.
  static Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype);
  /// The same with strides, in elements and not negative.
  static Tensor over(std::shared_ptr<Storage> storage, const Shape& shape, const Shape& strides, DType dtype);
  /// Same shape, dtype and backend as `like`, dense, not initialised.
  static Tensor empty_like(const Tensor& like);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  /// In elements.
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int axis) const { return shape_[axis]; }
  std::int64_t count() const { return shape_.count(); }
  std::size_t byte_size() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Backend& backend() const;
  TensorOptions options() const;
  bool is_contiguous() const;
  bool shares_storage_with(const Tensor& other) const { return storage_ == other.storage_; }

  /// Address of the first element, as `T`; an error when T is not the dtype.
  template <class T>
  T* data() const {
    require(dtype_of<T> == dtype_, "[tensor] data accessed as ", dtype_of<T>, ", but it is ", dtype_);
    return static_cast<T*>(raw());
  }
  void* raw() const;

  /// Views: they share the storage.
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  Tensor permute(const Shape& axes) const;
  /// Stretches axes of extent 1 (and adds leading ones) with stride 0.
  Tensor broadcast_to(const Shape& shape) const;
  /// The same elements under another shape; one extent may be -1. A view when the strides allow it, else a
  /// copy.
  Tensor reshape(const Shape& shape) const;
  /// `count` elements from element `offset` of a contiguous tensor, as a tensor of `shape`.
  Tensor view(std::int64_t offset, const Shape& shape) const;

  /// This tensor if it is dense and row-major, else a dense copy.
  Tensor contiguous() const;
  Tensor clone() const;
  Tensor to(DType dtype) const;
  Tensor to(Backend& backend) const;
  /// Copies the elements of `source` (same shape, any dtype, any backend; they may overlap) into this view.
  void copy_from(const Tensor& source) const;
  void fill(double value) const;
  /// `count` elements from element `begin` of a contiguous tensor are not wanted any more: their memory may
  /// go back to the system. Does nothing where another tensor shares the storage, or another owner keeps it.
  void discard(std::int64_t begin, std::int64_t count) const;

  /// The elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  /// The only element, as a double.
  double item() const;

 private:
  static Tensor over_host(void* values, const Shape& shape, DType dtype, std::shared_ptr<const void> owner);
  static Tensor from_bytes(const Shape& shape, TensorOptions options, const void* values, std::size_t count);

  std::shared_ptr<Storage> storage_;
  std::int64_t offset_ = 0;  // in elements
  Shape shape_;
  Shape strides_;
  DType dtype_ = DType::f32;
};

/// "f32 (2, 3)"
RONDE_API std::string to_string(const Tensor& tensor);
/// The elements too, as NumPy shows them: six digits, and of long axes the first and the last three when
/// there are more than 1,000 elements.
///
///     f32 (2, 3)
///     [[1, 2, 3],
///      [4, 5, 6.5]]
RONDE_API std::string values_text(const Tensor& tensor);

}  // namespace ronde::inline v0
