// Ranks joined by TCP that die, leave, or do not do what the others do.
#include <chrono>
#include <ctime>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>

#include "distributed/collective_values.h"
#include "distributed/contract_suite.h"
#include "distributed/tcp_job.h"
#include "support/forked_ranks.h"
#include "tcp/mesh.h"

namespace ronde::test {
namespace {

// The same where they share memory.
TEST(TcpCommunicator, DeathOfARankThatSharesMemory) {
  const Job job(3);
  const std::vector<int> statuses = run_processes(3, [&](int rank) {
    TcpOptions options = job.options(rank);
    options.path = AllreducePath::node;
    const std::unique_ptr<Communicator> c = make_tcp_communicator(options);
    const Tensor data = c->shared_tensor({100000}, host(DType::f32));
    if (rank == 1) std::raise(SIGKILL);
    const std::string message = message_of([&] {
      for (;;) c->allreduce(data).wait();
    });
    // Who hears of it first leaves as well.
    EXPECT_TRUE(message.ends_with("has died") || message.ends_with("others still wait for it")) << message;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 128 + SIGKILL, 0}));
}

// Killed in the middle: all others hear of it, wherever they wait.
TEST(TcpCommunicator, DeathOfARankIsAnErrorOfAll) {
  const Job job(4);
  const std::vector<int> statuses = run_processes(4, [&](int rank) {
    const std::unique_ptr<Communicator> c = job.join(rank);
    const std::string message = message_of([&] {
      c->barrier().wait();
      if (rank == 2) std::raise(SIGKILL);
      for (;;) c->allreduce(host_zeros({100000})).wait();
    });
    // Who hears of it first leaves as well.
    EXPECT_EQ(message.rfind("[tcp] rank", 0), 0U) << message;
    EXPECT_NE(message.find(" gone; rank "), std::string::npos) << message;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, 128 + SIGKILL, 0}));
}

// Rank 1 has left because rank 2 died: who then waits for rank 1 names both.
TEST(TcpCommunicator, NamesAllThatHaveGone) {
  const Job job(3);
  int left[2];
  ASSERT_EQ(pipe(left), 0);
  expect_processes(3, [&](int rank) {
    const Gathering ranks = gather_ranks(job.options(rank));
    std::vector<Socket> links = connect_all(ranks, rank, Deadline(30.0));
    char word = 0;
    if (rank != 0) {
      ASSERT_TRUE(send_text(links[0], "unread", Deadline(10.0)));
      links.clear();
      ASSERT_EQ(write(left[1], &word, 1), 1);
      return;
    }
    for (int r = 1; r < 3; ++r) ASSERT_EQ(read(left[0], &word, 1), 1);
    std::vector<char> more(100);
    Mesh mesh(rank, std::move(links));
    EXPECT_EQ(message_of([&] {
                mesh.exchange({}, {{1, more.data(), 100}});
              }),
              "[tcp] ranks 1, 2 have gone; rank 0 still waits for rank 1");
  });
}

// Its system answers nothing any more, as when a machine is gone, to what is on its way. The kernel alone
// would try for a quarter of an hour.
TEST(TcpCommunicator, AMachineThatIsGoneIsNoticed) {
  const Job job(2);
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  expect_processes(2, [&](int rank) {
    const Gathering ranks = gather_ranks(job.options(rank));
    std::vector<Socket> links = connect_all(ranks, rank, Deadline(30.0));
    char word = 0;
    if (rank == 1) {
      drop_what_comes(links[0]);
      ASSERT_TRUE(send_text(links[0], "gone", Deadline(10.0)));
      EXPECT_EQ(read(end[0], &word, 1), 1);  // until rank 0 has noticed
      return;
    }
    std::string text;
    ASSERT_TRUE(receive_text(links[1], text, Deadline(10.0)));
    Mesh mesh(rank, std::move(links));
    EXPECT_EQ(message_of([&] {
                mesh.exchange({{1, &word, 1}}, {{1, &word, 1}});
              }),
              "[tcp] rank 1 has gone; rank 0 still waits for rank 1");
    EXPECT_EQ(write(end[1], &word, 1), 1);
  });
}

// One rank may have no more files: a part that it cannot have is an error of all, at once.
TEST(TcpCommunicator, ARankWithoutSocketsIsAnErrorOfAll) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer looks at objects through a pipe of its own, for which there are no files left";
#endif
  const Job job(3);
  expect_processes(3, [&](int rank) {
    const std::unique_ptr<Communicator> c = job.join(rank);
    const auto split_with = [&](rlim_t files) {
      rlimit before{};
      getrlimit(RLIMIT_NOFILE, &before);
      const rlimit few{static_cast<rlim_t>(Socket(dup(0)).fd()) + files, before.rlim_max};
      if (rank == 1) setrlimit(RLIMIT_NOFILE, &few);
      const std::string message = message_of([&] { c->split(0, rank); });
      setrlimit(RLIMIT_NOFILE, &before);
      return message;
    };
    EXPECT_EQ(split_with(0), "[split] [tcp] cannot listen at 127.0.0.1:0: Too many open files");
    EXPECT_EQ(split_with(2), "[split] [tcp] cannot have 2 more sockets: Too many open files");
    expect_usable(*c);
    expect_usable(*c->split(0, rank));
  });
}

// A rank that has done its part may leave while others still receive from each other.
TEST(TcpCommunicator, LeavingInOrderDisturbsNobody) {
  const Job job(5);
  expect_processes(5, [&](int rank) {
    for (int round = 0; round < 5; ++round) {
      const std::unique_ptr<Communicator> c = job.join(rank);
      const Tensor data = Tensor::full({300000}, rank, host(DType::f32));
      c->broadcast(data, round).wait();
      EXPECT_EQ(data.to_vector<double>().back(), round);
    }
  });
}

// What the system takes without its being read.
std::int64_t fill(const Socket& link) {
  const std::vector<char> piece(1 << 16);
  std::int64_t bytes = 0;
  for (ssize_t sent = 0; sent >= 0; bytes += std::max<ssize_t>(sent, 0))
    sent = send(link.fd(), piece.data(), piece.size(), MSG_NOSIGNAL);
  return bytes;
}

// Rank 0 has still to read all of what rank 1 has sent when that one leaves, and then waits for rank 2.
TEST(TcpCommunicator, LeavesWithAGoodbyeWhereTheOtherHasMuchToRead) {
  const Job job(3);
  int told[2], left[2];
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(left), 0);
  expect_processes(3, [&](int rank) {
    const Gathering ranks = gather_ranks(job.options(rank));
    std::vector<Socket> links = connect_all(ranks, rank, Deadline(30.0));
    std::int64_t bytes = 0;
    char word = 0;
    if (rank == 1) {
      bytes = fill(links[0]);
      ASSERT_EQ(write(told[1], &bytes, sizeof bytes), ssize_t{sizeof bytes});
      { const Mesh mesh(rank, std::move(links)); }
      ASSERT_EQ(write(left[1], &word, 1), 1);
      return;
    }
    Mesh mesh(rank, std::move(links));
    if (rank == 2) {
      ASSERT_EQ(read(left[0], &word, 1), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      return mesh.exchange({{0, &word, 1}}, {});
    }
    ASSERT_EQ(read(told[0], &bytes, sizeof bytes), ssize_t{sizeof bytes});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::vector<char> room(static_cast<std::size_t>(bytes));
    mesh.exchange({}, {{1, room.data(), bytes}, {2, &word, 1}});
  });
}

TEST(TcpCommunicator, OneCollectiveTooMany) {
  const Job job(3);
  expect_processes(3, [&](int rank) {
    const std::unique_ptr<Communicator> c = job.join(rank);
    if (rank == 1) return c->barrier().wait();
    // The first of the others to learn of it leaves as well, perhaps while another is still in the first
    // barrier.
    const std::string message = message_of([&] {
      c->barrier().wait();
      c->barrier().wait();
    });
    EXPECT_NE(message.find(" gone; rank "), std::string::npos) << message;
  });
}

// Who spins would use all of the second.
TEST(TcpCommunicator, WaitingCostsNoProcessorTime) {
  const Job job(3);
  expect_processes(3, [&](int rank) {
    const std::unique_ptr<Communicator> c = job.join(rank);
    c->barrier().wait();
    const std::clock_t before = std::clock();
    if (rank == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    c->barrier().wait();
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.5);
  });
}

}  // namespace
}  // namespace ronde::test
