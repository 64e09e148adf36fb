#include <fstream>
#include <thread>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include "collectives/queued_communicator.h"
#include "distributed/collective_values.h"
#include "distributed/collectives_suite.h"
#include "distributed/contract_suite.h"
#include "distributed/tcp_job.h"
#include "shm/node_group.h"
#include "support/forked_ranks.h"
#include "tcp/tcp_transport.h"

namespace ronde::test {
namespace {

class TcpCommunicatorTest : public ::testing::TestWithParam<int> {};

// Whether a process of this machine has asked for a connection with this port and waits for an answer.
bool is_asked(int port) {
  char wanted[24];
  std::snprintf(wanted, sizeof wanted, ":%04X 02", static_cast<unsigned>(port));
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);)
    if (line.find(wanted) != std::string::npos) return true;
  return false;
}

TEST_P(TcpCommunicatorTest, PassesTheSuite) {
  const Job job(GetParam());
  expect_processes(GetParam(), [&](int rank) {
    const std::unique_ptr<Communicator> c = job.join(rank);
    c->size() > 4 ? check_some_collectives(*c) : check_collectives(*c);
    check_contract(*c);
    check_groups_at_once(*c);
    EXPECT_EQ(c->name(), c->size() == 1 ? "self" : "tcp");
    EXPECT_EQ(c->rank(), rank);
    EXPECT_EQ(c->local_rank(), rank);
    EXPECT_EQ(c->local_size(), c->size());
    EXPECT_EQ(c->cross_rank(), 0);
    EXPECT_EQ(c->cross_size(), 1);
  });
}
INSTANTIATE_TEST_SUITE_P(Ranks, TcpCommunicatorTest, ::testing::Values(1, 2, 3, 4, 5, 7, 8, 16));

// Ranks of one machine need the connections to meet only; and a machine can be told not to share.
TEST(TcpCommunicator, SharesMemoryOnOneMachine) {
  const Job job(3);
  expect_processes(3, [&](int rank) {
    TcpOptions options = job.options(rank);
    options.path = AllreducePath::automatic;
    const std::unique_ptr<Communicator> c = make_tcp_communicator(options);
    EXPECT_EQ(c->name(), "tcp");
    EXPECT_EQ(c->transport(), "shared memory, 3 ranks");
    const std::unique_ptr<Communicator> flat = job.join(rank);  // a second one, at the same time
    EXPECT_EQ(flat->transport(), "tcp, 3 ranks");
    check_allreduce(*c);
    check_contract(*c);
    expect_usable(*flat);
  });
}

// One rank that gets no memory to share: all do without, and say why; unless they were told to share.
TEST(TcpCommunicator, DoesWithoutSharedMemory) {
  const Job job(2);
  expect_processes(2, [&](int rank) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, 4096};
    if (rank == 0) setrlimit(RLIMIT_FSIZE, &small);
    TcpOptions options = job.options(rank);
    options.path = AllreducePath::automatic;
    const std::unique_ptr<Communicator> c = make_tcp_communicator(options);
    const std::string reason =
        cat("[shared_memory] reserving shared memory of ", NodeGroup::bytes_for(2), " bytes: File too large");
    EXPECT_EQ(c->transport(), cat("tcp, 2 ranks (no shared memory: ", reason, ')'));
    expect_usable(*c);
    options.path = AllreducePath::node;
    EXPECT_EQ(message_of([&] { make_tcp_communicator(options); }),
              cat("RONDE_ALLREDUCE=node is not possible: ", reason));
  });
}

// It has the parent's memory and connections: what it did there would be the parent's.
TEST(TcpCommunicator, AChildOfARankStartsNoCollectives) {
  for (const AllreducePath path : {AllreducePath::automatic, AllreducePath::mpi}) {
    const Job job(2);
    expect_processes(2, [&](int rank) {
      TcpOptions options = job.options(rank);
      options.path = path;
      const std::unique_ptr<Communicator> c = make_tcp_communicator(options);
      expect_processes(1, [&](int) {
        EXPECT_EQ(message_of([&] { c->barrier().wait(); }),
                  "[barrier] was called by a child made by fork(), which is no rank: its parent is");
        EXPECT_THROW(c->sequence("parts", [](Communicator&) {}), UsageError);
        EXPECT_THROW(c->shared_tensor({3}), UsageError);
        EXPECT_THROW(c->split(0, 0), UsageError);
        EXPECT_THROW(c->conclude({}), UsageError);
      });
      expect_usable(*c);
    });
  }
}

TEST(TcpCommunicator, SumsInPieces) {
  const Job job(3);
  expect_processes(3, [&](int rank) {
    const Gathering ranks = gather_ranks(job.options(rank));
    auto mesh = std::make_unique<Mesh>(rank, connect_all(ranks, rank, Deadline(30.0)));
    QueuedCommunicator c(std::make_unique<TcpTransport>(std::move(mesh), ranks.table.hosts, "127.0.0.1", 777),
                         std::make_shared<WorkerThread>());
    check_allreduce(c);
    check_reduce_scatter(c);
    check_uneven_reduce_scatter(c);
  });
}

// What it has not for other ranks' data, it says before the ranks meet.
TEST(TcpCommunicator, GetsItsMemoryBeforeTheRanksMeet) {
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  TcpTransport transport(std::make_unique<Mesh>(0, std::vector<Socket>(2)), {"a", "b"}, "127.0.0.1", kMost);
  EXPECT_THROW(transport.reserve({.count = kMost, .part = kMost / 2}), Error);
  transport.reserve({.count = 10, .part = 5});
}

TEST(TcpCommunicator, MeetsAtAnAddress) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  expect_processes(2, [&](int rank) {
    const auto c = make_tcp_communicator(
        {.rank = rank, .size = 2, .rendezvous = cat("tcp://127.0.0.1:", port), .token = "secret"});
    expect_usable(*c);
  });
}

// A file that another job has left: nobody listens there any more.
TEST(TcpCommunicator, IgnoresAnOldFile) {
  const Job job(2);
  std::ofstream(job.file()) << own_address(listen_at({"127.0.0.1", 0})).host << ":1 0123456789abcdef\n";
  expect_processes(2, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    expect_usable(*job.join(rank));
  });
  EXPECT_FALSE(std::ifstream(job.file()).is_open());
}

// Somebody does, but says nothing: the new file tells of another place.
TEST(TcpCommunicator, IgnoresAnOldFileWhereAStrangerListens) {
  const Job job(2, 5.0);
  const Socket stranger = listen_at({"127.0.0.1", 0});
  std::ofstream(job.file()) << to_string(own_address(stranger)) << " 0123456789abcdef\n";
  expect_processes(2, [&](int rank) {
    const Socket guest = rank == 0 ? accept_from(stranger, Deadline(5.0)) : Socket();
    expect_usable(*job.join(rank));
  });
}

TEST(TcpCommunicator, IgnoresAnOldFileOfAMachineThatIsGone) {
  const Job job(2, 15.0);
  const Socket gone = listen_at({"127.0.0.1", 0});
  drop_what_comes(gone);
  std::ofstream(job.file()) << to_string(own_address(gone)) << " 0123456789abcdef\n";
  expect_processes(2, [&](int rank) {
    while (rank == 0 && !is_asked(own_address(gone).port))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    expect_usable(*job.join(rank));
  });
}

// A file is there only while rank 0 waits for the others; and only its own is taken away.
TEST(TcpCommunicator, LeavesNoFileBehind) {
  const Job job(2, 0.5);
  EXPECT_NE(message_of([&] { job.join(0); }), "no error");
  EXPECT_FALSE(std::ifstream(job.file()).is_open());
  expect_processes(2, [&](int rank) {
    TcpOptions options = job.options(rank);
    options.size += rank;
    EXPECT_NE(message_of([&] { make_tcp_communicator(options); }), "no error");
  });
  EXPECT_FALSE(std::ifstream(job.file()).is_open());
  expect_processes(2, [&](int process) {
    if (process == 0) {
      EXPECT_NE(message_of([&] { job.join(0); }), "no error");
      return;
    }
    while (!std::ifstream(job.file()).is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::ofstream(job.file()) << "of another job\n";
  });
  EXPECT_TRUE(std::ifstream(job.file()).is_open());
}

// Whoever starts ranks may start one again that died while the others still come.
TEST(TcpCommunicator, ARankMayDieAndComeAgain) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  expect_processes(2, [&](int process) {
    if (process == 0) {  // whom the others, who say no more than who they are, leave again
      const auto join = [&] {
        make_tcp_communicator({.size = 3, .rendezvous = cat("tcp://127.0.0.1:", port), .patience = 10.0});
      };
      EXPECT_EQ(message_of(join), "[tcp] rank 1 left while the ranks gathered");
      return;
    }
    const Deadline soon(10.0);
    const auto come = [&](int rank) {
      Socket link;
      std::string problem;
      while (!link.is_open() && !soon.is_over()) link = connect_to({"127.0.0.1", port}, soon, problem);
      EXPECT_TRUE(send_text(link, Hello{token_word(""), rank, 3, "elsewhere"}.text(), soon));
      return link;
    };
    come(1).close();
    const Socket again = come(1), last = come(2);
    std::string answer;
    EXPECT_TRUE(receive_text(again, answer, soon));
    EXPECT_EQ(answer, "go network 127.0.0.1");
  });
}

TEST(TcpCommunicator, NamesTheRanksThatDidNotCome) {
  const Job job(5, 1.0);
  expect_processes(3, [&](int rank) {  // 3 and 4 stay away
    EXPECT_EQ(message_of([&] { job.join(rank); }),
              cat("[tcp] ranks 3, 4 of 5 did not come to file:", job.file(), " within 1 s"));
  });
  expect_processes(1, [&](int) {
    EXPECT_EQ(message_of([&] { job.join(4); }),
              cat("[tcp] rank 4 waited 1 s for rank 0 at file:", job.file(), " in vain"));
  });
}

TEST(TcpCommunicator, RefusesWhoDoesNotBelong) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  const auto join = [&](int rank, int size, const std::string& token) {
    return message_of([&] {
      make_tcp_communicator({.rank = rank,
                             .size = size,
                             .rendezvous = cat("tcp://127.0.0.1:", port),
                             .token = token,
                             .patience = 2.0});
    });
  };
  expect_processes(2, [&](int rank) {
    const std::string message = join(rank, 2, rank == 0 ? "right" : "wrong");
    const std::string place = cat("tcp://127.0.0.1:", port);
    EXPECT_EQ(message, rank == 0 ? cat("[tcp] rank 1 of 2 did not come to ", place,
                                       " within 2 s; 1 caller was refused, with another RONDE_TOKEN")
                                 : cat("[tcp] RONDE_TOKEN is not that of rank 0 at ", place));
  });
  expect_processes(2, [&](int rank) {
    EXPECT_EQ(join(rank, 2 + rank, ""), "[tcp] ranks have different world sizes: rank 0 2, rank 1 3");
  });
  expect_processes(3, [&](int process) {
    EXPECT_EQ(join(process == 0 ? 0 : 1, 3, ""), "[tcp] more than one process has rank 1 of 3");
  });
}

// Who waits in vain says what became of it.
TEST(TcpCommunicator, SaysWhyRankZeroIsNotFound) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  const std::string place = cat("127.0.0.1:", port);
  EXPECT_EQ(message_of([&] {
              make_tcp_communicator({.rank = 1, .size = 2, .rendezvous = "tcp://" + place, .patience = 0.3});
            }),
            cat("[tcp] rank 1 waited 0.3 s for rank 0 at tcp://", place, " in vain: ", place,
                ": Connection refused"));
}

// Secrets are what people make them.
TEST(TcpCommunicator, ASecretMayHaveBlanks) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  expect_processes(2, [&](int rank) {
    expect_usable(*make_tcp_communicator({.rank = rank,
                                          .size = 2,
                                          .rendezvous = cat("tcp://127.0.0.1:", port),
                                          .token = " two words\n\x80",
                                          .patience = 10.0}));
  });
}

// A file that another program has left is waited out, whatever it says.
TEST(TcpCommunicator, IgnoresAFileOfSomethingElse) {
  const Job job(2);
  std::ofstream(job.file()) << "hello world\n";
  expect_processes(2, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    expect_usable(*job.join(rank));
  });
}

// As many as would take far longer than the ranks' patience if rank 0 listened to one after the other.
TEST(TcpCommunicator, StrangersWhoSayNothingHoldUpNobody) {
  const int port = own_address(listen_at({"127.0.0.1", 0})).port;
  expect_processes(2, [&](int rank) {
    std::vector<Socket> strangers;
    for (const Deadline soon(4.0); rank == 1 && strangers.size() < 300 && !soon.is_over();) {
      std::string problem;
      Socket one = connect_to({"127.0.0.1", port}, soon, problem);
      if (one.is_open()) strangers.push_back(std::move(one));
    }
    const auto c = make_tcp_communicator(
        {.rank = rank, .size = 2, .rendezvous = cat("tcp://127.0.0.1:", port), .patience = 4.0});
    expect_usable(*c);
  });
}

TEST(TcpCommunicator, RefusesWrongArguments) {
  EXPECT_EQ(message_of([] { make_tcp_communicator({.rank = 3, .size = 3, .rendezvous = "file:x"}); }),
            "[tcp] rank 3 is not one of 3 ranks");
  for (const int rank : {0, 1}) {
    EXPECT_EQ(message_of([&] { make_tcp_communicator({.rank = rank, .size = 2}); }),
              "[tcp] RONDE_RENDEZVOUS expects tcp://host:port or file:/path, got nothing");
    EXPECT_EQ(message_of(
                  [&] { make_tcp_communicator({.rank = rank, .size = 2, .rendezvous = "tcp://node:port"}); }),
              "[tcp] expects host:port, got node:port");
  }
}

}  // namespace
}  // namespace ronde::test
