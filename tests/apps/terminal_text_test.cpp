#include "common/terminal_text.h"

#include <gtest/gtest.h>

namespace ronde::apps {
namespace {

TEST(TerminalText, WhatFitsStays) {
  const std::string help =
      "Usage: train [OPTIONS]\n\nOptions:\n  --seed N   of weights, order\n             and dropout\n";
  EXPECT_EQ(fitted(help, 30), help);
  EXPECT_EQ(fitted("", 10), "");
}

TEST(TerminalText, ASecondColumnGoesOnBelowItself) {
  EXPECT_EQ(
      fitted("Options:\n  --seed N   of weights, order\n             and dropout\n  --top N    answers\n",
             26),
      "Options:\n"
      "  --seed N   of weights,\n"
      "             order and\n"
      "             dropout\n"
      "  --top N    answers\n");
}

TEST(TerminalText, AColumnThatIsTooNarrowGoesBelow) {
  EXPECT_EQ(fitted("  --global-batch-size N   samples of all ranks\n", 30),
            "  --global-batch-size N\n"
            "      samples of all ranks\n");
}

TEST(TerminalText, Paragraphs) {
  EXPECT_EQ(fitted("Reads models and tables,\nand says what they are.\n\nUsage: ronde inspect FILE\n", 20),
            "Reads models and\ntables, and says\nwhat they are.\n\nUsage: ronde inspect\nFILE\n");
}

TEST(TerminalText, ExamplesAreLinesOfTheirOwn) {
  EXPECT_EQ(fitted("  ronde export a.h5 a.onnx\n  ronde info\n", 18),
            "  ronde export\n  a.h5 a.onnx\n  ronde info\n");
}

TEST(TerminalText, LettersCountOnce) {
  const std::string line = "  data  \xc3\xbc\xc3\xb6\xc3\xa4 \xc3\xbc\xc3\xb6\xc3\xa4";  // 15 letters
  EXPECT_EQ(fitted(line, 15), line);
}

TEST(TerminalText, AWordThatIsTooLongStaysWhole) {
  EXPECT_EQ(fitted("  data  /a/very/long/path of 3", 16), "  data  /a/very/long/path\n        of 3");
}

}  // namespace
}  // namespace ronde::apps
