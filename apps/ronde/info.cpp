// `ronde info`
#include <cstdio>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/cifar10.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/mnist.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/models/build_info.h>

#include "common/banner.h"
#include "report/html_text.h"
#include "report/machine.h"
#include "ronde/commands.h"

namespace ronde::apps {
namespace {

std::string backend_line() {
  std::string line;
  for (const Backend* backend : backends())
    line += cat(line.empty() ? "" : ", ", backend->name(), " on ", backend->device(),
                backend == &default_backend() ? " (default)" : "");
  return line;
}

std::string onednn_line() {
  return onednn_version().empty() ? "not built in"
                                  : cat(onednn_version(), ", kernels for ", instruction_set());
}

std::string mpi_line() {
  if (!has_mpi()) return "not built in";
  const std::string level = mpi_thread_level();
  const std::string version = mpi_library_version();
  return cat(version.substr(0, version.find(',')), level.empty() ? "" : ", " + level,
             ", called by one thread of its own");
}

std::string cores_line(const Machine& machine) {
  const std::string limit =
      machine.core_limit > 0.0 ? fixed(machine.core_limit, 1) + " by cgroup" : "no limit by cgroup";
  return cat(machine.cores, " (", limit, "), ", machine.processor);
}

std::string memory_line(const Machine& machine) {
  const std::string limit =
      machine.memory_limit > 0 ? bytes_text(machine.memory_limit) + " by cgroup" : "no limit by cgroup";
  return cat(bytes_text(machine.memory), " (", limit, ")");
}

void print_info(const Communicator& world) {
  const Machine machine = this_machine();
  const auto found = [](bool there, const char* name) {
    return there ? std::string("found") : cat("not found: `ronde data get ", name, "`");
  };
  const std::string text = banner(cat("ronde ", RONDE_VERSION),
                                  {{"backends", backend_line()},
                                   {"oneDNN", onednn_line()},
                                   {"MPI", mpi_line()},
                                   {"HDF5", hdf5_version()},
                                   {"GPU", "not built in"},
                                   {"ranks", cat(world.size(), " (", world.name(), "), ",
                                                 default_backend().threads().size(), " threads each")},
                                   {"cores", cores_line(machine)},
                                   {"memory", memory_line(machine)},
                                   {"system", cat(machine.host, ", ", machine.system)},
                                   {"data", default_data_directory()},
                                   {"MNIST", found(has_mnist(), "mnist")},
                                   {"CIFAR-10", found(has_cifar10(), "cifar10")}});
  std::fputs(text.c_str(), stdout);
}

}  // namespace

Command info_command() {
  return {.name = "info",
          .help = "print what is built in, and what this machine has",
          .details = {},
          .arguments = {},
          .run = [](Communicator& world) { on_main(world, [&] { print_info(world); }); }};
}

}  // namespace ronde::apps
