#include <gtest/gtest.h>

#include <ronde/data/data_directory.h>

#include "data/environment.h"

namespace ronde {
namespace {

using test::SetEnv;

TEST(DataDirectory, FollowsTheEnvironment) {
  const SetEnv home("HOME", "/home/ada"), data("RONDE_DATA", "/data"), cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(default_data_directory(), "/data");
  const SetEnv no_data("RONDE_DATA", "");
  EXPECT_EQ(default_data_directory(), "/cache/ronde");
  const SetEnv no_cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(default_data_directory(), "/home/ada/.cache/ronde");
}

}  // namespace
}  // namespace ronde
