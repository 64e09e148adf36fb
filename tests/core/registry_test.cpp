#include <cstdlib>

#include <ronde/core/thread_pool.h>

#include "core/testing.h"

namespace ronde {
namespace {

TEST(Registry, TheOracleIsLast) {
  ASSERT_FALSE(backends().empty());
  EXPECT_EQ(backends().back()->name(), "cpu");
  EXPECT_EQ(&backend("cpu"), backends().back());
}

TEST(Registry, AnUnknownNameIsAUsageErrorThatListsTheNames) {
  try {
    backend("abacus");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("\"abacus\""), std::string::npos) << text;
    for (const Backend* each : backends()) EXPECT_NE(text.find(each->name()), std::string::npos) << text;
  }
}

TEST(Registry, ThreadsOfAllBackends) {
  const int before = thread_count();
  set_thread_count(3);
  EXPECT_EQ(thread_count(), 3);
  for (Backend* each : backends()) EXPECT_EQ(each->threads().size(), 3) << each->name();
  EXPECT_THROW(set_thread_count(0), UsageError);
  EXPECT_EQ(thread_count(), 3);
  set_thread_count(before);
}

// The choice is made once per process, so each case asks in a process of its own.
void exit_with_default_backend(const char* wanted) {
  setenv("RONDE_BACKEND", wanted, 1);
  try {
    std::fprintf(stderr, "chosen: %s", default_backend().name().c_str());
    std::exit(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s", error.what());
    std::exit(static_cast<int>(error.status()));
  }
}

TEST(RegistryDeathTest, TheEnvironmentChooses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_default_backend("cpu"), ::testing::ExitedWithCode(0), "chosen: cpu");
  EXPECT_EXIT(exit_with_default_backend(""), ::testing::ExitedWithCode(0),
              "chosen: " + backends().front()->name());
  EXPECT_EXIT(exit_with_default_backend("abacus"), ::testing::ExitedWithCode(2),
              "abacus.*RONDE_BACKEND.*cpu");
}

}  // namespace
}  // namespace ronde
