#include <ronde/models/adapt_normalization.h>

#include <algorithm>
#include <numeric>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {

namespace {

constexpr std::int64_t kBatch = 32;

/// Welford's: no sum of squares, from which little would be left of a small variance.
class Moments {
 public:
  explicit Moments(std::int64_t channels)
      : mean_(static_cast<std::size_t>(channels)), squares_(mean_.size()) {}
  void add(const double* channels) {
    ++count_;
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const double difference = channels[c] - mean_[c];
      mean_[c] += difference / count_;
      squares_[c] += difference * (channels[c] - mean_[c]);
    }
  }
  NormalizationOptions result(std::optional<std::int64_t> axis) const {
    NormalizationOptions options{.axis = axis, .mean = mean_, .variance = squares_};
    for (double& variance : options.variance) variance /= count_;
    return options;
  }

 private:
  double count_ = 0.0;
  std::vector<double> mean_, squares_;
};

}  // namespace

NormalizationOptions adapt_normalization(const Dataset& data, std::optional<std::int64_t> axis) {
  require<UsageError>(data.size() > 0, "[normalization] the data set to adapt to has no samples");
  const TensorOptions host{.dtype = DType::f64, .backend = &backend("cpu")};
  const auto last = static_cast<std::int64_t>(data.input_shape().rank());  // behind that of the samples
  require<UsageError>(!axis || *axis == -1 || *axis == last, "[normalization] axis: ", axis.value_or(-1),
                      " of samples ", data.input_shape(), " is not supported, only the last axis");
  const std::int64_t channels = axis ? data.input_shape().back() : 1;
  Moments moments(channels);
  for (std::int64_t begin = 0; begin < data.size(); begin += kBatch) {
    std::vector<std::int64_t> samples(static_cast<std::size_t>(std::min(kBatch, data.size() - begin)));
    std::iota(samples.begin(), samples.end(), begin);
    const auto count = static_cast<std::int64_t>(samples.size());
    const Tensor inputs = Tensor::empty(data.input_shape().batch_of(count), host);
    data.read(samples, inputs,
              Tensor::empty(data.target_shape().batch_of(count),
                            {.dtype = data.target_dtype(), .backend = host.backend}));
    const double* values = inputs.data<double>();
    for (std::int64_t i = 0; i < inputs.count(); i += channels) moments.add(values + i);
  }
  return moments.result(axis);
}

}  // namespace ronde::inline v0
