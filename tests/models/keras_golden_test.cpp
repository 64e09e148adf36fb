// Files written by Keras 2.15 and 3.15, and what that Keras computed from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <ronde/core/ops.h>
#include <ronde/models/file_io.h>
#include <ronde/nn/weight_layout.h>

#include "keras_file/hdf5_dataset.h"
#include "models/testing.h"
#include "weights/saved_layers.h"

namespace ronde::test {
namespace {

struct Case {
  std::string net, keras;
  Backend* backend;
};

/// What Keras computed.
struct Expected {
  Tensor input, label, output;
  double loss = 0.0, accuracy = 0.0;
  std::vector<Tensor> gradients;
};

Tensor read_labels(hid_t file, std::int64_t count) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
  const hid_t dataset = H5Dopen2(file, "label", H5P_DEFAULT);
  H5Dread(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data());
  H5Dclose(dataset);
  return Tensor::from<std::int32_t>({count}, labels);
}

double read_scalar(hid_t file, const char* name) {
  double value = NAN;
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
  H5Dclose(dataset);
  return value;
}

Expected read_expected(const Case& c) {
  const std::string bytes = read_file(golden(c.net + "_keras" + c.keras + "_expected.h5"));
  const hdf5::Session session;
  const hdf5::Handle file = hdf5::open_image(bytes);
  Expected expected;
  expected.input = hdf5::read_dataset(file, "input");
  expected.label = read_labels(file, expected.input.size(0));
  expected.output = hdf5::read_dataset(file, "output");
  expected.loss = read_scalar(file, "loss");
  expected.accuracy = read_scalar(file, "accuracy");
  for (int i = 0;; ++i) {
    const std::string name = cat("gradient/", i < 10 ? "0" : "", i);
    if (!hdf5::has_object(file, name)) break;
    expected.gradients.push_back(hdf5::read_dataset(file, name));
  }
  return expected;
}

double largest(const std::vector<double>& values) {
  double result = 0.0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

class KerasGolden : public ::testing::TestWithParam<Case> {
 protected:
  Model load() {
    return Model::load(golden(GetParam().net + "_keras" + GetParam().keras + ".h5"),
                       {.backend = GetParam().backend});
  }
  Expected expected_ = read_expected(GetParam());
};

TEST_P(KerasGolden, Predicts) {
  EXPECT_LE(largest_difference(load().predict(expected_.input, 5), expected_.output), 1e-6);
}

TEST_P(KerasGolden, Evaluates) {
  Model model = load();
  ASSERT_TRUE(model.is_compiled());
  const Evaluation evaluation = model.evaluate(InMemoryDataset(expected_.input, expected_.label), 7);
  EXPECT_EQ(evaluation.count, expected_.input.size(0));
  EXPECT_NEAR(*evaluation.logs.find("loss"), expected_.loss, 1e-6 * std::max(1.0, expected_.loss));
  EXPECT_EQ(evaluation.correct, std::llround(expected_.accuracy * static_cast<double>(evaluation.count)));
}

TEST_P(KerasGolden, HasTheGradientsOfKeras) {
  Model model = load();
  Backend& backend = *GetParam().backend;
  model.arena().zero_gradients();
  const Variable output = model.module()(expected_.input.to(backend));
  mean(model.loss()(output, expected_.label.to(backend))).backward();
  std::size_t i = 0;
  // In the order of Keras' files, which is not always the order of execution.
  for (const WeightAssignment& assignment : match_layers(model.module(), save_layers(model.module()))) {
    Parameter weight = assignment.target;
    if (!weight.variable.requires_grad()) continue;
    ASSERT_LT(i, expected_.gradients.size());
    const Tensor& expected = expected_.gradients[i++];
    ASSERT_TRUE(weight.variable.grad().defined()) << weight.name;
    weight.variable = Variable(weight.variable.grad());
    const double scale = largest(expected.to_vector<double>());
    EXPECT_LE(largest_difference(to_keras_layout(weight), expected), 1e-5 * scale) << weight.name;
  }
  EXPECT_EQ(i, expected_.gradients.size());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* net : {"mnist_cnn", "cifar10_cnn", "batchnorm_net", "residual_net", "branches_net",
                          "nested_net", "text_net"})
    for (const char* keras : {"2.15.0", "3.15.1"})
      for (Backend* backend : backends()) all.push_back({net, keras, backend});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Files, KerasGolden, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = cat(test.param.net, "_", test.param.keras, "_", test.param.backend->name());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace ronde::test
