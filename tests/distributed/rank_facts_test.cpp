#include <ronde/distributed/rank_facts.h>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ronde/core/build_info.h>
#include <ronde/core/machine.h>
#include <ronde/distributed/self_communicator.h>

#include "mpi/library_name.h"
#include "support/thread_ranks.h"

namespace ronde {
namespace {

/// In a process of its own.
RankFacts rank_on(int node, std::vector<int> cores, int threads) {
  static int process = 100;
  return {.rank = 0,
          .host = "node" + std::to_string(node),
          .node = node,
          .process = ++process,
          .cores = std::move(cores),
          .core_limit = 0.0,
          .threads = threads,
          .version = "1.0.0",
          .mpi = "Open MPI v4.1.4",
          .kernels = "oneDNN 2.6.3, avx512_bf16",
          .float_kernels = "oneDNN 2.6.3, avx512"};
}

/// Every second rank of a world.
std::vector<RankFacts> even_ranks(std::vector<RankFacts> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].rank = static_cast<int>(2 * i);
  return ranks;
}

template <class... Computed>
std::string error_of(void (*check)(const std::vector<RankFacts>&, Computed...),
                     const std::vector<RankFacts>& ranks, Computed... computed) {
  try {
    check(ranks, computed...);
  } catch (const CollectiveError& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST(LibraryName, IsWhatUsersKnow) {
  EXPECT_EQ(library_name("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(library_name("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n"),
            "MPICH 4.0.2");
  EXPECT_EQ(library_name("MVAPICH2 Version      :\t2.3.7\n"), "MVAPICH2 2.3.7");
  EXPECT_EQ(library_name("Intel(R) MPI Library 2021.8 for Linux* OS\n"),
            "Intel(R) MPI Library 2021.8 for Linux* OS");
  EXPECT_EQ(library_name(""), "");
}

TEST(CrowdedNodes, NoneWhenEachThreadHasACore) {
  EXPECT_TRUE(find_crowded_nodes({rank_on(0, {0, 1}, 2)}).empty());
  EXPECT_TRUE(find_crowded_nodes({rank_on(0, {0, 1, 2, 3}, 2), rank_on(0, {0, 1, 2, 3}, 2)}).empty());
  EXPECT_TRUE(find_crowded_nodes({rank_on(0, {0}, 1), rank_on(0, {1}, 1), rank_on(1, {0, 1}, 2)}).empty());
}

TEST(CrowdedNodes, CountsTheThreadsOfANode) {
  const std::vector<CrowdedNode> found =
      find_crowded_nodes(even_ranks({rank_on(0, {0, 1}, 1), rank_on(0, {0, 1}, 1), rank_on(1, {0, 1}, 1),
                                     rank_on(1, {0, 1}, 2), rank_on(1, {0, 1}, 1)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, "node1");
  EXPECT_EQ(found[0].ranks, (std::vector<int>{4, 6, 8}));
  EXPECT_EQ(found[0].threads, 4);
  EXPECT_EQ(found[0].cores, 2);
  const std::string text = describe(found[0]);
  EXPECT_NE(text.find("node1: 3 ranks with 4 threads in all share 2 cores"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 2"), std::string::npos) << text;
}

TEST(CrowdedNodes, RanksBoundToTheSameCoreOfALargeNode) {
  const std::vector<CrowdedNode> found = find_crowded_nodes(
      even_ranks({rank_on(0, {0}, 1), rank_on(0, {0}, 1), rank_on(0, {1, 2, 3, 4, 5, 6, 7}, 1)}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(found[0].cores, 1);
}

TEST(CrowdedNodes, LimitOfAContainer) {
  RankFacts rank = rank_on(0, {0, 1, 2, 3, 4, 5, 6, 7}, 4);
  rank.core_limit = 2.0;
  const std::vector<CrowdedNode> found = find_crowded_nodes({rank});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cores, 2);
  EXPECT_NE(describe(found[0]).find("give each rank 2 with --threads"), std::string::npos);
}

TEST(CrowdedNodes, RanksOfOneProcessShareItsThreads) {
  RankFacts rank = rank_on(0, {0, 1}, 2);
  EXPECT_TRUE(find_crowded_nodes({rank, rank, rank}).empty());
}

TEST(SameLibraries, NamesRanksAndVersions) {
  std::vector<RankFacts> ranks = even_ranks({rank_on(0, {0}, 1), rank_on(0, {1}, 1), rank_on(1, {0}, 1)});
  EXPECT_EQ(error_of(require_same_libraries, ranks), "");
  ranks[2].version = "2.0.0";
  const std::string text = error_of(require_same_libraries, ranks);
  EXPECT_NE(text.find("1.0.0 on ranks 0, 2 (node0"), std::string::npos) << text;
  EXPECT_NE(text.find("2.0.0 on rank 4 (node1)"), std::string::npos) << text;
  ranks[2].version = "1.0.0";
  ranks[0].mpi = "MPICH 4.0";
  EXPECT_NE(error_of(require_same_libraries, ranks).find("MPICH 4.0 on rank 0"), std::string::npos);
}

TEST(SameKernels, OnlyTheyMatterForBits) {
  std::vector<RankFacts> ranks = even_ranks({rank_on(0, {0}, 1), rank_on(1, {0}, 3)});
  EXPECT_EQ(error_of(require_same_kernels, ranks, DType::f32), "");
  ranks[0].kernels = ranks[0].float_kernels = "oneDNN 2.6.3, avx2";
  EXPECT_EQ(error_of(require_same_libraries, ranks), "");
  const std::string text = error_of(require_same_kernels, ranks, DType::f32);
  EXPECT_NE(text.find("avx2 on rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("avx512 on rank 2"), std::string::npos) << text;
  EXPECT_NE(text.find("RONDE_ISA"), std::string::npos) << text;
}

TEST(SameKernels, WhatDiffersInBfloat16MattersToItAlone) {
  std::vector<RankFacts> ranks = even_ranks({rank_on(0, {0}, 1), rank_on(1, {0}, 1)});
  ranks[0].kernels = "oneDNN 2.6.3, amx";
  EXPECT_EQ(error_of(require_same_kernels, ranks, DType::f32), "");
  const std::string text = error_of(require_same_kernels, ranks, DType::bf16);
  EXPECT_NE(text.find("amx on rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("avx512_bf16 on rank 2"), std::string::npos) << text;
}

TEST(RankFactsTest, TravelWhole) {
  test::run_ranks(3, [](Communicator& world) {
    const RankFacts own = own_rank_facts(world);
    const std::vector<RankFacts> all = gather_rank_facts(world);
    ASSERT_EQ(all.size(), 3u);
    for (const RankFacts& rank : all) {
      EXPECT_EQ(rank.host, this_machine().host);
      EXPECT_EQ(rank.process, ::getpid());
      EXPECT_EQ(rank.cores, own.cores);
      EXPECT_EQ(rank.core_limit, own.core_limit);
      EXPECT_EQ(rank.threads, own.threads);
      EXPECT_EQ(rank.version, library_version());
      EXPECT_EQ(rank.kernels, own.kernels);
      EXPECT_EQ(rank.float_kernels, own.float_kernels);
      EXPECT_EQ(rank.node, 0);
    }
    EXPECT_EQ(all[2].rank, 2);
    require_same_libraries(all);
    require_same_kernels(all, DType::bf16);
  });
}

TEST(RankFactsTest, OfAGroupHaveNumbersOfTheWorld) {
  test::run_ranks(3, [](Communicator& world) {
    const auto group = world.split(world.rank() == 0 ? 0 : 1, 0);
    const std::vector<RankFacts> all = gather_rank_facts(*group);
    EXPECT_EQ(all.back().rank, world.rank() == 0 ? 0 : 2);
  });
}

TEST(RankFactsTest, OfARankAlone) {
  SelfCommunicator self;
  ASSERT_EQ(gather_rank_facts(self).size(), 1u);
  EXPECT_GE(own_rank_facts(self).threads, 1);
}

}  // namespace
}  // namespace ronde
