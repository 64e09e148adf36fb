#include <cmath>
#include <numeric>

#include <ronde/core/backend.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/muon.h>
#include <ronde/nn/sequential.h>

#include "nn/testing.h"
#include "support/matrix.h"

namespace ronde::test {
namespace {

double norm(const Matrix& a) {
  double squares = 0.0;
  for (const auto& row : a) squares += std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  return std::sqrt(squares);
}

/// As the papers write it: wide matrices only, others are transposed before and after.
Matrix naive_newton_schulz(Matrix x, int steps) {
  const bool is_tall = x.size() > x[0].size();
  if (is_tall) x = transposed(x);
  const double size = norm(x) + 1e-7;
  for (auto& row : x)
    for (double& value : row) value /= size;
  for (int s = 0; s < steps; ++s) {
    const Matrix a = product(x, transposed(x)), square = product(a, a);
    Matrix b = a;
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) b[i][j] = -4.775 * a[i][j] + 2.0315 * square[i][j];
    const Matrix change = product(b, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x[0].size(); ++j) x[i][j] = 3.4445 * x[i][j] + change[i][j];
  }
  return is_tall ? transposed(x) : x;
}

/// The optimizer in f64 by plain loops, for one weight.
struct NaiveMuon {
  MuonOptions options;
  Matrix w, m;
  void step(const Matrix& g) {
    Matrix u = g;
    if (m.empty()) m = Matrix(g.size(), std::vector<double>(g[0].size(), 0.0));
    for (std::size_t i = 0; i < g.size(); ++i)
      for (std::size_t j = 0; j < g[0].size(); ++j) {
        m[i][j] = options.momentum * m[i][j] + g[i][j];
        u[i][j] = options.nesterov ? g[i][j] + options.momentum * m[i][j] : m[i][j];
      }
    const Matrix x = naive_newton_schulz(u, options.ns_steps);
    const double size = std::sqrt(static_cast<double>(w.size())) / (norm(w) + 1e-7);
    const auto longest = static_cast<double>(std::max(w.size(), w[0].size()));
    const double rate =
        options.learning_rate * (options.rms_rate > 0 ? options.rms_rate * std::sqrt(longest) : 1.0);
    for (std::size_t i = 0; i < g.size(); ++i)
      for (std::size_t j = 0; j < g[0].size(); ++j)
        w[i][j] = (options.normalize_weights ? size : 1.0) * w[i][j] - rate * x[i][j];
  }
};

/// Two convolutions without biases: kernels (2, 2, 2, 3), which is wide, and (5, 1, 1, 2), which is tall.
Sequential two_kernels() {
  return Sequential(Conv2D({.filters = 2, .kernel = {2, 2}, .use_bias = false, .name = "wide"}),
                    Conv2D({.filters = 5, .kernel = {1, 1}, .use_bias = false, .name = "tall"}));
}

void expect_naive_steps(const MuonOptions& options, DType dtype, double tolerance) {
  Sequential net = two_kernels();
  net.build({3, 3, 3}, {.seed = 3, .dtype = dtype, .backend = &backend("cpu")});
  ParameterArena arena(net);
  Muon muon(options);
  muon.attach(arena);
  const std::vector<Parameter> weights = net.parameters();
  std::vector<NaiveMuon> naive;
  for (const Parameter& weight : weights) naive.push_back({options, matrix_of(weight.variable.value()), {}});
  for (int step = 0; step < 3; ++step) {
    std::vector<double> gradients(static_cast<std::size_t>(arena.gradients().count()), 0.0);
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const Segment& segment = arena.segments()[s];
      for (std::int64_t i = 0; i < segment.count; ++i)
        gradients[static_cast<std::size_t>(segment.offset + i)] = std::sin(1.3 * double(i) + step) + 0.2;
    }
    arena.use_gradients(
        Tensor::from<double>({arena.gradients().count()}, gradients, &backend("cpu")).to(dtype));
    for (std::size_t s = 0; s < weights.size(); ++s) {
      const Segment& segment = arena.segments()[s];
      Matrix g = matrix_of(arena.gradients().view(segment.offset, segment.shape));
      for (auto& row : g)
        for (double& value : row) value *= 0.5;
      naive[weights[0].name == segment.name ? 0 : 1].step(g);
    }
    muon.step(0.5);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Matrix actual = matrix_of(weights[i].variable.value());
    for (std::size_t r = 0; r < actual.size(); ++r)
      for (std::size_t c = 0; c < actual[0].size(); ++c)
        ASSERT_NEAR(actual[r][c], naive[i].w[r][c], tolerance) << weights[i].name << ", " << r << ", " << c;
  }
}

TEST(Muon, IsItsFormula) {
  for (const bool nesterov : {true, false}) {
    expect_naive_steps({.learning_rate = 0.24, .momentum = 0.6, .nesterov = nesterov}, DType::f64, 1e-12);
    expect_naive_steps({.learning_rate = 0.24, .momentum = 0.6, .nesterov = nesterov}, DType::f32, 1e-5);
  }
  expect_naive_steps({.learning_rate = 0.1, .ns_steps = 3, .normalize_weights = true}, DType::f64, 1e-12);
  expect_naive_steps({.learning_rate = 0.1, .ns_steps = 3, .rms_rate = 0.2}, DType::f64, 1e-12);
}

TEST(Muon, RefusesWhatIsNoMatrix) {
  Sequential net(Conv2D({.filters = 2, .kernel = {1, 1}, .name = "conv"}));
  net.build({1, 1, 1}, in_f64());
  ParameterArena arena(net);
  Muon muon;
  EXPECT_EQ(message_of([&] { muon.attach(arena); }),
            "[muon] expects matrices and kernels, conv/bias has the shape (2,): put it into another group of "
            "OptimizerGroups");
  // A rank's part that ends within the kernel.
  Sequential kernels = two_kernels();
  kernels.build({3, 3, 3}, in_f64());
  ParameterArena other(kernels);
  Muon cut;
  cut.restrict_to({.ranges = {{0, 4}}, .sum = {}});
  EXPECT_THROW(cut.attach(other), UsageError);
}

}  // namespace
}  // namespace ronde::test
