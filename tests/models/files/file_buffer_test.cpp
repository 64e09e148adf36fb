#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "files/file_buffer.h"
#include "support/process_memory.h"

namespace ronde::test {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(FileBuffer, AppendedBytesFollowEachOther) {
  FileBuffer buffer(3);
  std::string expected;
  for (int i = 0; i < 3000; ++i) {  // through several pages
    buffer.append(std::to_string(i));
    expected += std::to_string(i);
  }
  EXPECT_EQ(std::string_view(buffer), expected);
  EXPECT_EQ(std::string_view(FileBuffer()), "");
}

TEST(FileBuffer, NewBytesAreZeroWhateverWasThereBefore) {
  FileBuffer buffer;
  buffer.append(std::string(10000, 'x'));
  buffer.resize(10);
  buffer.resize(3 * kMegabyte);
  EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), '\0'), 3 * kMegabyte - 10);
  EXPECT_EQ(std::string_view(buffer).substr(0, 11), std::string(10, 'x') + '\0');
}

TEST(FileBuffer, WhatIsMovedAwayIsEmptyAndCanBeUsedAgain) {
  FileBuffer first;
  first.append("first");
  FileBuffer second(std::move(first));
  EXPECT_EQ(std::string_view(second), "first");
  first.append("again");
  second = std::move(first);
  EXPECT_EQ(std::string_view(second), "again");
  EXPECT_TRUE(first.empty());
}

TEST(FileBuffer, OnlyWhatIsWrittenTakesMemoryAndAllOfItGoesBack) {
  if (!memory_can_be_measured()) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const std::size_t before = resident_bytes();
  {
    FileBuffer buffer(64 * kMegabyte);
    buffer.resize(48 * kMegabyte);
    EXPECT_LT(resident_bytes(), before + kMegabyte);
    std::fill(buffer.data(), buffer.data() + 8 * kMegabyte, 'x');
    EXPECT_GE(resident_bytes(), before + 8 * kMegabyte);
  }
  EXPECT_LT(resident_bytes(), before + kMegabyte);
}

}  // namespace
}  // namespace ronde::test
