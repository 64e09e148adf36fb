#include "backend/onednn/isa.h"

#include <ronde/core/build_info.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "backend/onednn/onednn_backend.h"
#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

// Sets a variable of the environment for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(Isa, TheVariableChooses) {
  EXPECT_EQ((Variable("RONDE_ISA", "portable"), chosen_isa()), Isa::portable);
  EXPECT_EQ((Variable("RONDE_ISA", ""), chosen_isa()), best_isa());
  EXPECT_EQ((Variable("RONDE_ISA", name_of(best_isa())), chosen_isa()), best_isa());
}

TEST(Isa, AnUnknownOneIsAUsageError) {
  const Variable set("RONDE_ISA", "mmx");
  EXPECT_THROW(chosen_isa(), UsageError);
  expect_error([] { chosen_isa(); },
               "RONDE_ISA=mmx is none of portable, neon, avx2, avx512, avx512_bf16, amx");
}

TEST(Isa, SetsThatDifferInBfloat16AloneAreOneForFloats) {
  const Variable set("RONDE_ISA", name_of(best_isa()));
  EXPECT_EQ(instruction_set(DType::bf16), name_of(best_isa()));
  const Isa of_floats = best_isa() == Isa::avx512_bf16 ? Isa::avx512 : best_isa();
  EXPECT_EQ(instruction_set(DType::f32), name_of(of_floats));
  EXPECT_EQ(instruction_set(DType::f64), instruction_set(DType::f32));
}

TEST(Isa, OneThatTheMachineLacksIsAUsageError) {
  if (best_isa() == Isa::amx) GTEST_SKIP() << "has them all";
  const Variable set("RONDE_ISA", "amx");
  expect_error([] { chosen_isa(); }, "this machine has only");
}

TEST(Isa, AllSetsAreTested) {
  if (best_isa() == Isa::amx || best_isa() == Isa::neon) return;
  GTEST_SKIP() << "the kernels of better sets than " << name_of(best_isa())
               << ", which this machine lacks, are not";
}

// Weights and states after two steps of each optimizer.
std::vector<float> after_steps(const char* isa) {
  const Variable set("RONDE_ISA", isa);
  const std::unique_ptr<Backend> b = make_onednn_backend();
  std::vector<float> all;
  const StepParams step{.learning_rate = 0.1, .grad_scale = 1.0 / 3, .weight_decay = 0.02};
  const auto run = [&](auto update) {
    Tensors t = copies({random({999}, 1), random({999}, 2), random({999}, 3, 0.1, 1),
                        random({999}, 4, 0.1, 1), random({999}, 5, 0.1, 1)},
                       *b, DType::f32);
    update(t), update(t);
    for (const Tensor& x : t) {
      const std::vector<float> values = x.to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
  };
  run([&](Tensors& t) { b->sgd_step(t[0], t[1], t[2], step, {.momentum = 0.9, .nesterov = true}); });
  run([&](Tensors& t) { b->rmsprop_step(t[0], t[1], t[2], t[3], {}, step, {.momentum = 0.9}); });
  run([&](Tensors& t) { b->adam_step(t[0], t[1], t[2], t[3], t[4], step, {.bias_correction = 0.31}); });
  run([&](Tensors& t) { b->adadelta_step(t[0], t[1], t[2], t[3], step, {}); });
  run([&](Tensors& t) { b->adagrad_step(t[0], t[1], t[2], step, {}); });
  return all;
}

// Ranks on machines of several kinds make the same step from the same gradient.
TEST(Isa, OptimizerStepsAreTheSameBitsOnAll) {
  const std::vector<float> portable = after_steps("portable");
  for (const Isa isa : machine_isas()) EXPECT_EQ(after_steps(name_of(isa)), portable) << name_of(isa);
}

TEST(ConvAlgorithm, TheVariableChooses) {
  EXPECT_EQ((Variable("RONDE_CONV", "direct"), convolution_algorithm()), "direct");
  EXPECT_EQ((Variable("RONDE_CONV", "winograd"), convolution_algorithm()), "winograd");
  EXPECT_EQ((Variable("RONDE_CONV", ""), convolution_algorithm()), "winograd");
  const Variable set("RONDE_CONV", "fft");
  expect_error([] { convolution_algorithm(); }, "RONDE_CONV=fft is none of winograd, direct");
}

// Both do what they say: a sum of thousands of terms is rounded in another way by either.
TEST(ConvAlgorithm, EachIsRunWhenAsked) {
  // The first use of any backend makes those of the process, which other tests are of: not by this variable.
  const Tensors given{random({1, 8, 8, 32}, 1), random({32, 3, 3, 32}, 2)};
  const auto result = [&](const char* algorithm) {
    const Variable set("RONDE_CONV", algorithm);
    const std::unique_ptr<Backend> b = make_onednn_backend();
    const Tensors in = copies(given, *b, DType::f32);
    const Tensor y = Tensor::empty({1, 6, 6, 32}, in[0].options());
    b->conv2d(y, in[0], in[1], {}, {}, Epilogue::none);
    return y.to_vector<float>();
  };
  EXPECT_NE(result("winograd"), result("direct"));
}

}  // namespace
}  // namespace ronde::test
