#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <ronde/core/error.h>
#include <ronde/data/patch_whitening.h>

namespace ronde::inline v0 {
namespace {

/// One picture's patches (count, side * side * c), a row each.
template <class T>
Eigen::MatrixXd patches_of(const T* image, const Shape& shape, std::int64_t side) {
  const std::int64_t h = shape[0], w = shape[1], c = shape[2], row = side * c;
  Eigen::MatrixXd patches((h - side + 1) * (w - side + 1), side * row);
  std::int64_t patch = 0;
  for (std::int64_t y = 0; y + side <= h; ++y)
    for (std::int64_t x = 0; x + side <= w; ++x, ++patch)
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t j = 0; j < row; ++j)
          patches(patch, i * row + j) = static_cast<double>(image[((y + i) * w + x) * c + j]);
  return patches;
}

Eigen::MatrixXd second_moments(const Tensor& images, std::int64_t side) {
  const Shape image = images.shape().tail(1);
  const std::int64_t values = side * side * image[2];
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(values, values);
  visit_real(images.dtype(), "patch_whitening", [&](auto real) {
    using T = decltype(real);
    for (std::int64_t n = 0; n < images.size(0); ++n) {
      const Eigen::MatrixXd patches = patches_of(images.data<T>() + n * image.count(), image, side);
      sum.selfadjointView<Eigen::Lower>().rankUpdate(patches.transpose());
    }
  });
  const std::int64_t patches = images.size(0) * (image[0] - side + 1) * (image[1] - side + 1);
  const Eigen::MatrixXd whole = sum.selfadjointView<Eigen::Lower>();
  return whole / static_cast<double>(patches);
}

}  // namespace

Tensor patch_whitening_kernel(const Tensor& images, PatchWhiteningOptions options) {
  const std::int64_t side = options.kernel;
  require<UsageError>(images.rank() == 4 && images.count() > 0 && side >= 1 && images.size(1) >= side &&
                          images.size(2) >= side,
                      "[patch_whitening] expects pictures (n, h, w, c) of at least ", side, " x ", side,
                      " pixels, got ", images.shape());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(second_moments(images, side));
  const std::int64_t values = side * side * images.size(3);
  std::vector<float> kernel;
  for (const double sign : {1.0, -1.0}) {
    for (std::int64_t i = values - 1; i >= 0; --i) {  // eigenvalues ascend
      const double factor = sign / std::sqrt(solver.eigenvalues()(i) + options.epsilon);
      for (std::int64_t j = 0; j < values; ++j)
        kernel.push_back(static_cast<float>(factor * solver.eigenvectors()(j, i)));
    }
  }
  return Tensor::from<float>({2 * values, side, side, images.size(3)}, kernel);
}

}  // namespace ronde::inline v0
