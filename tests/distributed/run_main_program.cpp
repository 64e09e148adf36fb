// What the tests of run_main start: a rank that ends in one of several ways.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/process_set.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/values.h>
#include <ronde/distributed/watchdog.h>

namespace {

using namespace ronde;

constexpr std::chrono::minutes kTooLong{10};  // for a test

void collective_forever(Communicator& world) {
  for (;;) world.barrier().wait();
}

void collective_in_spite_of_errors(Communicator& world) {
  for (int k = 0; k < 3; ++k) {
    try {
      world.barrier().wait();
    } catch (const Error& error) {
      std::printf("ignored: %s\n", error.what());
    }
  }
}

// The last rank does not come to the third all-reduce, for a reason.
void hang(const std::string& how, Communicator& world) {
  const bool is_victim = world.rank() == world.size() - 1;
  std::vector<float> values(1000, 1.0f);
  for (int step = 1; step <= 4; ++step) {
    begin_watched_step(world, step);
    if (step == 3 && is_victim) {
      if (how == "stopped") raise(SIGSTOP);
      if (how == "asleep") std::this_thread::sleep_for(kTooLong);
    }
    if (step == 3 && how == "paused") {
      const WatchdogPause pause;
      if (is_victim) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      world.barrier().wait();
    }
    allreduce(world, values, {.name = "losses"}).wait();
  }
}

// Its status once it has ended; -1: it has not, and is killed.
int status_of(pid_t child) {
  int status = 0;
  for (int i = 0; i < 200; ++i) {
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

// Rank 0 has children that end in several ways, and the ranks go on. A child returns from here, too.
void have_children(Communicator& world) {
  ProcessSet pair(world, {0, 1});
  const Work begun = world.rank() == 0 ? world.barrier() : Work();
  for (const std::string how : {"exits", "returns", "throws", "shuts down"}) {
    const pid_t child = world.rank() == 0 ? fork() : 1;
    if (child == 0) {
      const Tensor sums = Tensor::full({100}, 1.0);
      if (how == "exits") std::exit(3);
      if (how == "throws") throw InputError("bad picture");
      if (how == "shuts down") shutdown();
      return;
    }
    if (world.rank() == 0) std::printf("%s: %d\n", how.c_str(), status_of(child));
    std::fflush(stdout);  // not by the next child
  }
  if (world.rank() > 0) world.barrier().wait();
  begun.wait();
  std::vector<float> values(10, 1.0f);
  if (pair.included()) allreduce(*pair, values).wait();
  allreduce(world, values).wait();
  if (world.rank() == 0) std::printf("sum %g\n", static_cast<double>(values[9]));
}

void end_as(const std::string& mode, Communicator& world) {
  if (mode == "children") return have_children(world);
  if (mode.starts_with("hang_")) return hang(mode.substr(5), world);
  const bool is_last = world.rank() == world.size() - 1;
  if (mode == "one_fails") {
    if (is_last) throw InputError("train-labels: 59,999 labels for 60,000 images");
    collective_forever(world);
  } else if (mode == "one_fails_others_busy") {
    if (is_last) throw IoError("disk full");
    std::this_thread::sleep_for(kTooLong);
  } else if (mode == "all_fail") {
    throw UsageError("--batch-size expects a positive number, got 0");
  } else if (mode == "agreed") {
    collectively(world, [&] {
      if (is_last) throw InputError("bad magic");
    });
  } else if (mode == "standard_exception") {
    if (is_last) throw std::runtime_error("what a library says");
    collective_forever(world);
  } else if (mode == "no_memory") {
    throw std::bad_alloc();
  } else if (mode == "unknown_exception") {
    if (is_last) throw 42;
    collective_forever(world);
  } else if (mode == "one_returns_early") {
    if (!is_last) world.barrier().wait();
  } else if (mode == "exit_unheard") {
    if (is_last) std::exit(0);
    collective_in_spite_of_errors(world);
  } else if (mode == "killed") {
    if (is_last) std::raise(SIGKILL);
    collective_forever(world);
  } else if (mode == "pending") {
    const Tensor data = Tensor::zeros({1000});
    if (is_last) throw IoError("disk full");
    for (int k = 0; k < 5; ++k) world.allreduce(data);
    world.allreduce(data).wait();
  } else if (mode == "pending_in_a_group") {
    const std::unique_ptr<Communicator> group = world.split(0, world.rank());
    if (is_last) {
      const Work work = group->barrier();
      throw IoError("disk full");
    }
    collective_forever(world);
  } else if (mode == "one_fails_with_a_set") {
    const ProcessSet ends(world, {0, world.size() - 1});
    world.barrier().wait();
    if (is_last) throw InputError("cannot read picture 17.jpg");
    std::vector<float> values(10);
    if (ends.included()) allreduce(*ends, values).wait();
    collective_forever(world);
  } else if (mode == "set_disagrees") {
    const ProcessSet last_two(world, {world.size() - 2, world.size() - 1});
    if (last_two.included()) last_two->allreduce(Tensor::zeros({is_last ? 5 : 4})).wait();
    collective_forever(world);
  } else if (mode == "set_agrees_on_an_error") {
    const ProcessSet last_two(world, {world.size() - 2, world.size() - 1});
    if (last_two.included()) collectively(*last_two, [&] { require<InputError>(!is_last, "bad magic"); });
    collective_forever(world);
  } else if (mode == "killed_in_allreduce") {
    const Tensor data = world.shared_tensor({100000});
    for (int k = 0;; ++k) {
      if (is_last && k == 3) raise(SIGKILL);
      world.allreduce(data).wait();
    }
  } else if (mode == "transport") {
    if (is_last) std::printf("transport: %s\n", world.transport().c_str());
  }
}

// Horovod's verbs, and once more.
int restart() {
  for (int k = 0; k < 2; ++k) {
    init();
    init();
    std::printf("rank %d of %d, local %d of %d, node %d of %d, %s\n", rank(), size(), local_rank(),
                local_size(), cross_rank(), cross_size(), world().name().c_str());
    shutdown();
    shutdown();
  }
  return is_initialized() ? 1 : 0;
}

// A rank fails, all hear of it, and go on in another world.
int restart_after_failure() {
  init();
  const bool is_last = rank() == size() - 1;
  std::string heard;
  try {
    if (is_last) world().conclude({.status = ExitStatus::bad_input, .message = "broken"});
    std::vector<double> one{1.0};
    allreduce_values(world(), one);
  } catch (const CollectiveError& error) {
    heard = error.what();
  }
  try {
    shutdown();
    return 1;
  } catch (const CollectiveError& error) {
    if (heard != "broken" || error.what() != heard || is_initialized()) return 1;
  }
  init();
  std::vector<double> one{1.0};
  allreduce_values(world(), one);
  const bool is_right = one[0] == size();
  shutdown();
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "ok";
  if (mode == "restart") return restart();
  if (mode == "restart_after_failure") return restart_after_failure();
  if (mode == "no_shutdown") {
    init(argc, argv);
    std::vector<double> one{1.0};
    allreduce_values(world(), one);
    return one[0] == size() ? 0 : 1;
  }
  if (mode == "exit_alone") {
    init(argc, argv);
    if (rank() == size() - 1) std::exit(3);
    return run_main(argc, argv, collective_forever);
  }
  return run_main(argc, argv, [&](Communicator& world) {
    end_as(mode, world);
    std::printf("threads %d\n", default_backend().threads().size());
  });
}
