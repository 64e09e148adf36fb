#include <ronde/core/tensor.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kShowAll = 1000, kEdge = 3;

/// Nested brackets around the elements that are shown.
class ElementsText {
 public:
  explicit ElementsText(const Tensor& tensor)
      : shape_(tensor.shape()),
        strides_(row_major_strides(shape_)),
        values_(tensor.to_vector<double>()),
        is_floating_(is_floating(tensor.dtype())),
        shortened_(tensor.count() > kShowAll) {}

  std::string operator()() const { return of_axis(0, 0); }

 private:
  std::string element(std::int64_t at) const {
    const double value = values_[static_cast<std::size_t>(at)];
    return formatted(is_floating_ ? "%.6g" : "%.0f", value);
  }

  std::string of_axis(int axis, std::int64_t at) const {
    if (axis == shape_.rank()) return element(at);
    const bool is_row = axis == shape_.rank() - 1;
    const std::string between =
        is_row ? ", " : cat(",\n", std::string(static_cast<std::size_t>(axis) + 1, ' '));
    std::string text = "[";
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) text += between;
      if (shortened_ && i == kEdge && shape_[axis] > 2 * kEdge) {
        text += cat("...", between);
        i = shape_[axis] - kEdge;
      }
      text += of_axis(axis + 1, at + i * strides_[axis]);
    }
    return text + "]";
  }

  Shape shape_, strides_;
  std::vector<double> values_;
  bool is_floating_, shortened_;
};

}  // namespace

std::string values_text(const Tensor& tensor) {
  if (!tensor.defined()) return to_string(tensor);
  return cat(tensor, "\n", ElementsText(tensor)());
}

}  // namespace ronde::inline v0
