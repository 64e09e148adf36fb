#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Jacobi>

#include <ronde/core/backend.h>
#include <ronde/core/error.h>
#include <ronde/data/patch_whitening.h>

namespace ronde::inline v0 {
namespace {

/// The patches (count, side * side * c) of a picture (h, w, c), f64.
Tensor patches_of(const Tensor& image, std::int64_t side) {
  const std::int64_t h = image.size(0), w = image.size(1), row = side * image.size(2), step = image.size(2);
  const Tensor x = image.to(DType::f64).contiguous();
  const Tensor patches = Tensor::empty({(h - side + 1) * (w - side + 1), side * row}, x.options());
  const double* from = x.data<double>();
  double* to = patches.data<double>();
  for (std::int64_t y = 0; y + side <= h; ++y)
    for (std::int64_t column = 0; column + side <= w; ++column)
      for (std::int64_t i = 0; i < side; ++i) to = std::copy_n(from + ((y + i) * w + column) * step, row, to);
  return patches;
}

Eigen::MatrixXd second_moments(const Tensor& images, std::int64_t side) {
  const Shape image = images.shape().tail(1);
  const std::int64_t values = side * side * image[2];
  const Tensor sum = Tensor::zeros({values, values}, {.dtype = DType::f64, .backend = &backend("cpu")});
  const Tensor of_one = Tensor::empty_like(sum);
  for (std::int64_t n = 0; n < images.size(0); ++n) {
    const Tensor patches = patches_of(images.slice(0, n, n + 1).reshape(image), side);
    sum.backend().matmul(of_one, patches, patches, {.transpose_a = true});
    sum.backend().accumulate(sum, of_one, 1.0);
  }
  const std::int64_t patches = images.size(0) * (image[0] - side + 1) * (image[1] - side + 1);
  return Eigen::Map<Eigen::MatrixXd>(sum.data<double>(), values, values) / static_cast<double>(patches);
}

/// Turns a symmetric matrix until nothing is left beside its diagonal, which then has the eigenvalues; their
/// vectors are the columns of what is returned. Source: Jacobi's method with rows in order; Golub, Van Loan,
/// "Matrix Computations", 4th edition, section 8.5.
Eigen::MatrixXd diagonalise(Eigen::MatrixXd& a) {
  constexpr int kMostSweeps = 60;  // some ten are enough
  const double nothing = std::numeric_limits<double>::epsilon() * a.norm();
  Eigen::MatrixXd vectors = Eigen::MatrixXd::Identity(a.rows(), a.cols());
  bool goes_on = true;
  for (int sweep = 0; goes_on && sweep < kMostSweeps; ++sweep) {
    goes_on = false;
    for (Eigen::Index q = 1; q < a.cols(); ++q) {
      for (Eigen::Index p = 0; p < q; ++p) {
        Eigen::JacobiRotation<double> rotation;
        if (!(std::abs(a(p, q)) > nothing) || !rotation.makeJacobi(a, p, q)) continue;
        goes_on = true;
        a.applyOnTheLeft(p, q, rotation.adjoint());
        a.applyOnTheRight(p, q, rotation);
        vectors.applyOnTheRight(p, q, rotation);
      }
    }
  }
  return vectors;
}

}  // namespace

Tensor patch_whitening_kernel(const Tensor& images, PatchWhiteningOptions options) {
  const std::int64_t side = options.kernel;
  require<UsageError>(images.rank() == 4 && images.count() > 0 && side >= 1 && images.size(1) >= side &&
                          images.size(2) >= side,
                      "[patch_whitening] expects pictures (n, h, w, c) of at least ", side, " x ", side,
                      " pixels, got ", images.shape());
  Eigen::MatrixXd moments = second_moments(images, side);
  const Eigen::MatrixXd vectors = diagonalise(moments);
  const std::int64_t values = moments.rows();
  std::vector<Eigen::Index> strongest_first(static_cast<std::size_t>(values));
  std::iota(strongest_first.begin(), strongest_first.end(), Eigen::Index{0});
  std::stable_sort(strongest_first.begin(), strongest_first.end(),
                   [&](Eigen::Index a, Eigen::Index b) { return moments(a, a) > moments(b, b); });
  std::vector<float> kernel;
  for (const double sign : {1.0, -1.0}) {
    for (const Eigen::Index i : strongest_first) {
      const double factor = sign / std::sqrt(moments(i, i) + options.epsilon);
      for (std::int64_t j = 0; j < values; ++j) kernel.push_back(static_cast<float>(factor * vectors(j, i)));
    }
  }
  return Tensor::from<float>({2 * values, side, side, images.size(3)}, kernel);
}

}  // namespace ronde::inline v0
