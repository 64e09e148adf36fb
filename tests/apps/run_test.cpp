// What `ronde run` decides; whole jobs: run_test.py.
#include <cstdlib>

#include <sys/stat.h>

#include <gtest/gtest.h>
#include <ronde/core/error.h>
#include <ronde/models/file_io.h>

#include "ronde/run/ending.h"
#include "ronde/run/hosts.h"
#include "ronde/run/patience.h"
#include "support/temp_dir.h"

namespace ronde::apps {
namespace {

TEST(Ending, SaysWhetherTryingAgainHelps) {
  EXPECT_EQ(judge(0), Verdict::done);
  EXPECT_EQ(judge(75), Verdict::saved);
  for (const int status : {2, 64, 65, 126, 127, 130}) EXPECT_EQ(judge(status), Verdict::is_final) << status;
  for (const int status : {1, 3, 74, 86, 87, 88, 134, 137, 139, 205})
    EXPECT_EQ(judge(status), Verdict::try_again) << status;
  EXPECT_EQ(describe_status(137), "signal 9 (Killed)");
  EXPECT_EQ(describe_status(205), "failed (exit status 205)");
  EXPECT_EQ(describe_status(86), "a rank hung (exit status 86)");
}

TEST(Hosts, OfAList) {
  EXPECT_EQ(to_text(parse_hosts("a:4,b,c:2")), "a:4,b:1,c:2");
  EXPECT_EQ(slots_of(parse_hosts("a:4,b,c:2")), 7);
  EXPECT_THROW(parse_hosts("a:none"), UsageError);
  EXPECT_THROW(parse_hosts("a:0"), UsageError);
  EXPECT_THROW(parse_hosts(","), UsageError);
}

TEST(Hosts, OfAFile) {
  const testing::TempDir dir;
  atomic_write_file(dir / "hosts", "# ours\na slots=4\n\n  b max_slots=3 slots=2  # new\nc\n");
  EXPECT_EQ(to_text(parse_hosts(dir / "hosts")), "a:4,b:2,c:1");
}

// A remote shell that reaches one machine only.
TEST(Hosts, ThoseThatAnswer) {
  const testing::TempDir dir;
  const std::string agent = dir / "agent";
  atomic_write_file(agent, "#!/bin/sh\n[ \"$1\" = here ] && [ \"$2\" = true ]\n");
  ASSERT_EQ(chmod(agent.c_str(), 0700), 0);
  setenv("OMPI_MCA_plm_rsh_agent", agent.c_str(), 1);
  EXPECT_EQ(to_text(find_alive(parse_hosts("localhost:1,here:2,gone:2"))), "localhost:1,here:2");
  unsetenv("OMPI_MCA_plm_rsh_agent");
}

TEST(Patience, EndsWhenNothingMoves) {
  const HeartbeatFile beats(2);
  Patience patience(10.0, 100.0);
  EXPECT_EQ(patience.complaint(beats, 114.0), "");
  EXPECT_EQ(patience.complaint(beats, 129.1), "only 0 of 2 ranks have started, and nothing moved for 29 s");
  beats.slot(0).process = 7;
  beats.slot(1).process = 8;
  EXPECT_EQ(patience.complaint(beats, 130.0), "");
  EXPECT_EQ(patience.complaint(beats, 145.5),
            "the ranks have come to no first step, and nothing moved for 15 s");
  beats.slot(1).step = 3;
  EXPECT_EQ(patience.complaint(beats, 146.0), "");
  beats.slot(0).operations = 3;
  EXPECT_EQ(patience.complaint(beats, 160.0), "");
  EXPECT_EQ(patience.complaint(beats, 175.5), "nothing has moved for 15 s, in step 3");
}

TEST(Patience, IsEndlessWithoutADeadline) {
  const HeartbeatFile beats(1);
  Patience patience(0.0, 0.0);
  EXPECT_EQ(patience.complaint(beats, 1e9), "");
}

}  // namespace
}  // namespace ronde::apps
