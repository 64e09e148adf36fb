#include "callbacks/path_pattern.h"

#include <gtest/gtest.h>

#include <ronde/core/error.h>

namespace ronde {
namespace {

std::string format(const std::string& pattern) {
  return format_pattern(pattern, [](const std::string& name) -> std::optional<PatternValue> {
    if (name == "epoch") return std::int64_t{7};
    if (name == "val_loss") return 0.05126;
    if (name == "one") return 1.0;
    return {};
  });
}

// Right-hand sides are what Python's str.format gives.
TEST(PathPattern, FormatsAsPython) {
  EXPECT_EQ(format("plain.h5"), "plain.h5");
  EXPECT_EQ(format("{epoch}"), "7");
  EXPECT_EQ(format("{epoch:d}"), "7");
  EXPECT_EQ(format("{epoch:02d}-{val_loss:.2f}.h5"), "07-0.05.h5");
  EXPECT_EQ(format("{epoch:3d}|{epoch:03}"), "  7|007");
  EXPECT_EQ(format("{epoch:.1f}"), "7.0");
  EXPECT_EQ(format("{val_loss:.4f}|{val_loss:.3e}|{val_loss:g}"), "0.0513|5.126e-02|0.05126");
  EXPECT_EQ(format("{val_loss:08.3f}"), "0000.051");
  EXPECT_EQ(format("{val_loss}|{one}"), "0.05126|1.0");
  EXPECT_EQ(format("{{epoch}}"), "{epoch}");
}

TEST(PathPattern, ErrorsNameThePattern) {
  for (const char* pattern : {"{loss}", "{epoch", "epoch}", "{val_loss:d}", "{epoch:x}", "{epoch:999999999d}",
                              "{}", "{val_loss:.2}", "{epoch:02dd}"}) {
    try {
      format(pattern);
      ADD_FAILURE() << pattern << " was taken";
    } catch (const UsageError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("Failed to format this callback filepath: "))
          << error.what();
    }
  }
}

TEST(PathPattern, KnowsWhetherLogsAreNeeded) {
  EXPECT_EQ(names_in_pattern("{epoch:02d}-{{loss}}-{val_loss}"),
            (std::vector<std::string>{"epoch", "val_loss"}));
  EXPECT_FALSE(pattern_needs_logs("{epoch}-{batch}-{{loss}}"));
  EXPECT_TRUE(pattern_needs_logs("{epoch}-{loss:.2f}"));
}

}  // namespace
}  // namespace ronde
