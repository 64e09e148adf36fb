#include "backend/onednn/isa.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "backend_ops/compare.h"

namespace ronde::test {
namespace {

// Sets $RONDE_ISA for a while.
class IsaVariable {
 public:
  explicit IsaVariable(const char* value) {
    if (const char* before = std::getenv("RONDE_ISA")) before_ = before;
    setenv("RONDE_ISA", value, 1);
  }
  ~IsaVariable() {
    if (before_)
      setenv("RONDE_ISA", before_->c_str(), 1);
    else
      unsetenv("RONDE_ISA");
  }

 private:
  std::optional<std::string> before_;
};

TEST(Isa, TheVariableChooses) {
  EXPECT_EQ((IsaVariable("portable"), chosen_isa()), Isa::portable);
  EXPECT_EQ((IsaVariable(""), chosen_isa()), best_isa());
  EXPECT_EQ((IsaVariable(name_of(best_isa())), chosen_isa()), best_isa());
}

TEST(Isa, AnUnknownOneIsAUsageError) {
  const IsaVariable set("mmx");
  EXPECT_THROW(chosen_isa(), UsageError);
  expect_error([] { chosen_isa(); }, "RONDE_ISA=mmx is none of portable, avx2, avx512");
}

TEST(Isa, OneThatTheMachineLacksIsAUsageError) {
  if (best_isa() == Isa::avx512) GTEST_SKIP() << "has them all";
  const IsaVariable set("avx512");
  expect_error([] { chosen_isa(); }, "this machine has only");
}

}  // namespace
}  // namespace ronde::test
