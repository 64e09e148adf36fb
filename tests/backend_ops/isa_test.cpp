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
  expect_error([] { chosen_isa(); }, "RONDE_ISA=mmx is none of portable, avx2, avx512");
}

TEST(Isa, OneThatTheMachineLacksIsAUsageError) {
  if (best_isa() == Isa::avx512) GTEST_SKIP() << "has them all";
  const Variable set("RONDE_ISA", "avx512");
  expect_error([] { chosen_isa(); }, "this machine has only");
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
  const auto result = [](const char* algorithm) {
    const Variable set("RONDE_CONV", algorithm);
    const std::unique_ptr<Backend> b = make_onednn_backend();
    const Tensors in = copies({random({1, 8, 8, 32}, 1), random({32, 3, 3, 32}, 2)}, *b, DType::f32);
    const Tensor y = Tensor::empty({1, 6, 6, 32}, in[0].options());
    b->conv2d(y, in[0], in[1], {}, {}, Epilogue::none);
    return y.to_vector<float>();
  };
  EXPECT_NE(result("winograd"), result("direct"));
}

}  // namespace
}  // namespace ronde::test
