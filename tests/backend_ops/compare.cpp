#include "compare.h"

#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "backend_ops/variants.h"

namespace ronde::test {

Backend& oracle() {
  return backend("cpu");
}

namespace {

const char* asked_for() {
  const char* name = std::getenv("RONDE_TEST_BACKEND");
  return name ? name : "";
}

/// Those that `$RONDE_TEST_BACKEND` asks for, if it asks for any.
const std::vector<Variant>& variants() {
  static const std::vector<Variant> chosen = [] {
    const std::string_view name = asked_for();
    std::vector<Variant> all = make_variants();
    if (name == "outer_variants")
      std::erase_if(all, [](const Variant& v) { return v.is_between; });
    else if (name != "variants")
      std::erase_if(all, [&](const Variant& v) { return v.name != name; });
    return all;
  }();
  return chosen;
}

std::string label(const Backend& backend) {
  for (const Variant& v : variants())
    if (v.backend.get() == &backend) return v.name;
  return backend.name();
}

}  // namespace

std::vector<Backend*> tested_backends() {
  if (variants().empty()) return *asked_for() ? std::vector{&backend(asked_for())} : backends();
  const std::string_view suite = ::testing::UnitTest::GetInstance()->current_test_suite()->name();
  std::vector<Backend*> tested;
  for (const Variant& v : variants())
    if (v.is_for(suite)) tested.push_back(v.backend.get());
  return tested;
}

Tensor random(const Shape& shape, std::uint64_t seed, double low, double high) {
  Values values = random_values(shape.count(), seed);
  for (double& v : values) v = static_cast<float>(low + (v + 1) / 2 * (high - low));
  return tensor(oracle(), shape, values);
}

Tensor blank(const Shape& shape, DType dtype) {
  return unwritten(oracle(), shape, dtype);
}

Tensors copies(const Tensors& tensors, Backend& backend, DType dtype) {
  Tensors result;
  for (const Tensor& t : tensors) {
    if (!t.defined()) {
      result.emplace_back();
      continue;
    }
    const Tensor copy =
        Tensor::empty(t.shape(), {.dtype = t.dtype() == DType::f64 ? dtype : t.dtype(), .backend = &backend});
    copy.copy_from(t);
    result.push_back(copy);
  }
  return result;
}

Tensors rounded(const Tensors& tensors) {
  Tensors result = copies(tensors, oracle(), DType::bf16);
  for (Tensor& t : result)
    if (t.defined() && t.dtype() == DType::bf16) t = t.to(DType::f64);
  return result;
}

namespace {

double largest_finite(std::span<const double> values) {
  double largest = 0;
  for (const double v : values) {
    const double size = std::abs(v);
    largest = size > largest && size < std::numeric_limits<double>::infinity() ? size : largest;
  }
  return largest;
}

// There are hundreds of millions of values to compare: loops that do nothing else, and no macro for each.
std::size_t first_far(std::span<const double> got, std::span<const double> want, double limit) {
  std::size_t i = 0;
  while (i < got.size() && (std::abs(got[i] - want[i]) <= limit || got[i] == want[i] ||
                            (std::isnan(got[i]) && std::isnan(want[i]))))
    ++i;
  return i;
}

}  // namespace

void expect_near_oracle(const Tensor& actual, const Tensor& expected, double tolerance) {
  const Values got = actual.to_vector<double>(), want = expected.to_vector<double>();
  ASSERT_EQ(got.size(), want.size());
  const double limit = tolerance * largest_finite(want);
  const std::size_t i = first_far(got, want, limit);
  if (i < got.size()) {
    FAIL() << "element " << i << " is " << got[i] << ", not " << want[i] << " within " << limit << ", of "
           << to_string(actual);
  }
}

namespace {

/// Whether this run is about kernels that somebody chose: all else has been tested without it.
bool is_about_chosen_kernels() {
  const char* isa = std::getenv("RONDE_ISA");
  return !variants().empty() || (isa && *isa);
}

/// Numbers of threads to try. The oracle's loops are slow, and with one thread they are what all is
/// compared with. The other backends of the CPU leave f64 to it; that they do is seen once.
std::vector<int> threads_for(const Backend& backend, DType dtype) {
  if (backend.device().type != DeviceType::cpu) return {1};
  const bool is_oracle = &backend == &oracle();
  if (is_about_chosen_kernels())
    return is_oracle || dtype == DType::f64 ? std::vector<int>{} : std::vector<int>{1, 3};
  if (is_oracle) return {3};
  return dtype == DType::f64 ? std::vector<int>{1} : std::vector<int>{1, 2, 3};
}

}  // namespace

void for_each_setting(const std::function<void(Backend&, DType)>& body, const std::vector<DType>& dtypes) {
  for (Backend* candidate : tested_backends())
    for (const DType dtype : dtypes)
      for (const int threads : threads_for(*candidate, dtype)) {
        SCOPED_TRACE(cat(label(*candidate), " ", dtype, ", ", threads, " threads"));
        candidate->threads().resize(threads);
        body(*candidate, dtype);
        candidate->threads().resize(1);
      }
}

void compare(const Tensors& outputs, const Tensors& inputs, const Kernel& kernel, Tolerance tolerance) {
  const auto compare_in = [&](const std::vector<DType>& dtypes, const Tensors& before, const Tensors& given) {
    const Tensors expected = copies(before, oracle(), DType::f64);
    kernel(oracle(), expected, copies(given, oracle(), DType::f64));
    const auto run = [&](Backend& backend, DType dtype) {
      const Tensors actual = copies(before, backend, dtype);
      kernel(backend, actual, copies(given, backend, dtype));
      for (std::size_t i = 0; i < actual.size(); ++i) {
        SCOPED_TRACE(cat("output ", i));
        if (actual[i].defined()) expect_near_oracle(actual[i], expected[i], tolerance.of(dtype));
      }
    };
    for_each_setting(run, dtypes);
  };
  compare_in({DType::f32, DType::f64}, outputs, inputs);
  if (tolerance.bf16 > 0) compare_in({DType::bf16}, rounded(outputs), rounded(inputs));
}

}  // namespace ronde::test
