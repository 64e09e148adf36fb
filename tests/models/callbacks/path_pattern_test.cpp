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

std::string own(const std::string& pattern, const std::string& path) {
  return path_of_pattern(pattern, path).value_or("none");
}

TEST(PathPattern, APathStandsForItsNameInThePatternsFolder) {
  const std::string pattern = "/b/{{x}}/{epoch:02d}-{val_loss:.2f}.h5";
  EXPECT_EQ(own(pattern, "/b/{x}/01-0.46.h5"), "/b/{x}/01-0.46.h5");
  EXPECT_EQ(own(pattern, "/other/01-0.46.h5"), "/b/{x}/01-0.46.h5");
  EXPECT_EQ(own(pattern, "01-nan.h5"), "/b/{x}/01-nan.h5");
  EXPECT_EQ(own(pattern, "x/12--1.5e-07.h5"), "/b/{x}/12--1.5e-07.h5");
  EXPECT_EQ(own("model-{epoch:3d}.h5", "/a/model-  7.h5"), "model-  7.h5");
  EXPECT_EQ(own("a/plain.h5", "/b/plain.h5"), "a/plain.h5");
  EXPECT_EQ(own("/r*/{epoch}.h5", "/r1/7.h5"), "/r*/7.h5");
}

TEST(PathPattern, OtherNamesAreNotThePatterns) {
  for (const char* path : {"", "/", "/b/", "/etc/passwd", "best-1.h5", ".h5", "1.h5/", "1.h5.tmp", "x1.h5",
                           "../1.keras", "1/2.h5.", "1b.h5"})
    EXPECT_EQ(own("/b/{epoch}.h5", path), "none") << path;
  EXPECT_EQ(own("/b/{epoch}.h5", std::string("1\0.h5", 6)), "none");
  EXPECT_EQ(own("a/plain.h5", "a/plain.keras"), "none");
}

// Its folders count too, and none of them leads out.
TEST(PathPattern, ValuesInAFolder) {
  EXPECT_EQ(own("/b/run-{epoch}/m.h5", "/a/run-3/m.h5"), "/b/run-3/m.h5");
  EXPECT_EQ(own("{epoch}/{batch}/m.h5", "/a/3/4/m.h5"), "3/4/m.h5");
  EXPECT_EQ(own("{epoch}/{batch}/m.h5", "4/m.h5"), "none");
  for (const char* path : {"m.h5", "/m.h5", "../m.h5", "./m.h5", "a/../m.h5", "x/m.h5", "1/2/m.h5x"})
    EXPECT_EQ(own("/b/{epoch}/m.h5", path), "none") << path;
}

}  // namespace
}  // namespace ronde
