#include "nn/testing.h"

namespace ronde::test {

BuildOptions in_f64(std::uint64_t seed) {
  return {.seed = seed, .dtype = DType::f64, .backend = &backend("cpu")};
}

nlohmann::json read_golden(const std::string& name) {
  std::ifstream file(std::string(RONDE_TEST_DATA) + "/" + name);
  EXPECT_TRUE(file.good()) << name;
  return nlohmann::json::parse(file);
}

Tensor golden_tensor(const nlohmann::json& entry) {
  const auto extents = entry.at("shape").get<std::vector<std::int64_t>>();
  return f64_tensor(Shape(extents), entry.at("values").get<std::vector<double>>());
}

Tensor sample_keys_of(const std::vector<std::int64_t>& pairs) {
  return Tensor::from<std::int64_t>({std::ssize(pairs) / 2, 2}, pairs, &backend("cpu"));
}

void randomize(Module& module, std::uint64_t seed) {
  for (Parameter& parameter : module.parameters()) {
    const double low = parameter.name.ends_with("variance") ? 0.5 : -1.0;
    parameter.variable.assign(random_tensor(parameter.variable.shape(), seed++, low, 1.5));
  }
}

Parameter find_parameter(const Module& module, const std::string& suffix) {
  for (const Parameter& parameter : module.parameters())
    if (parameter.name.ends_with(suffix)) return parameter;
  ADD_FAILURE() << "no weight " << suffix;
  return {};
}

void expect_module_gradients(Module& module, const Tensor& x, const Context& context, CheckOptions options) {
  std::vector<Tensor> inputs{x};
  Variables weights;
  for (const Parameter& parameter : module.parameters()) {
    if (!parameter.variable.requires_grad()) continue;
    weights.push_back(parameter.variable);
    inputs.push_back(parameter.variable.value().clone());
  }
  const Function f = [&](const Variables& v) {
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k].assign(v[k + 1].value());
    return module(v[0], context);
  };
  const Variable leaf = Variable::parameter(x);
  const Variable y = module(leaf, context);
  const Tensor seed = random_tensor(y.shape(), 99);
  y.backward(seed);
  std::vector<Tensor> gradients{leaf.grad()};
  for (const Variable& weight : weights) gradients.push_back(weight.grad().clone());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    expect_close(gradients[k], numeric_gradient(f, inputs, k, seed, options.step), options.tolerance,
                 cat("gradient of input ", k));
}

}  // namespace ronde::test
