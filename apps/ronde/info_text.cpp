#include <algorithm>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/counted.h>
#include <ronde/data/cifar10.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/mnist.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/models/build_info.h>

#include "common/banner.h"
#include "common/device_choice.h"
#include "common/text_table.h"
#include "report/html_text.h"
#include "ronde/info_facts.h"

namespace ronde::apps {
namespace {

std::string backend_line() {
  std::vector<std::string> names;
  for (const Backend* backend : backends())
    names.push_back(
        cat(backend->name(), " on ", backend->device(), backend == &default_backend() ? " (default)" : ""));
  return joined(names, ", ");
}

std::string onednn_line() {
  return onednn_version().empty() ? "not built in"
                                  : cat(onednn_version(), ", kernels for ", instruction_set());
}

std::string mpi_line() {
  if (!has_mpi()) return "not built in";
  const std::string version = mpi_library_version();
  if (!mpi_is_running()) return version;
  return cat(version, ", ", mpi_thread_level(),
             mpi_overlaps() ? "" : ": collectives do not overlap with computing");
}

std::string ranks_line(const InfoFacts& facts) {
  const auto [fewest, most] =
      std::minmax_element(facts.ranks.begin(), facts.ranks.end(),
                          [](const RankFacts& a, const RankFacts& b) { return a.threads < b.threads; });
  const std::string threads = fewest->threads == most->threads
                                  ? to_string(counted(most->threads, "thread"))
                                  : cat(fewest->threads, " to ", most->threads, " threads");
  return cat(facts.ranks.size(), " (", facts.world, "), ", threads, " each");
}

std::string cores_line(const Machine& machine) {
  const std::string limit =
      machine.core_limit > 0.0 ? fixed(machine.core_limit, 1) + " by cgroup" : "no limit by cgroup";
  return cat(machine.cores.size(), " (", limit, "): ", core_ranges(machine.cores), ", on ",
             counted(machine.physical_cores, "physical core"), " and ",
             counted(machine.numa_nodes, "NUMA node"));
}

std::string memory_line(const Machine& machine) {
  const std::string limit =
      machine.memory_limit > 0 ? bytes_text(machine.memory_limit) + " by cgroup" : "no limit by cgroup";
  return cat(bytes_text(machine.memory), " (", limit, ")");
}

std::string shared_memory_line(const Machine& machine) {
  return machine.shared_memory == 0 ? "no /dev/shm"
                                    : cat(bytes_text(machine.shared_memory), " in /dev/shm, ",
                                          bytes_text(machine.shared_memory_free), " free");
}

std::string network_line(const Machine& machine) {
  std::vector<std::string> texts;
  for (const NetworkInterface& network : machine.networks) {
    if (!network.is_up || network.is_loopback) continue;
    const std::string speed = network.bits_per_second > 0.0
                                  ? cat(", ", brief(network.bits_per_second * 1e-9), " Gb/s")
                                  : ", speed unknown";
    texts.push_back(cat(network.name, " (", joined(network.addresses, " "),
                        network.addresses.empty() ? "no address" : "", speed, ")"));
  }
  return texts.empty() ? "loopback only" : joined(texts, ", ");
}

std::string dataset_line(bool is_there, const char* name) {
  return is_there ? std::string("found") : cat("not found: `ronde data get ", name, "`");
}

std::string rank_table(const InfoFacts& facts) {
  std::vector<std::vector<std::string>> rows{{"rank", "host", "node", "cores", "threads", "kernels"}};
  const std::vector<CrowdedNode> crowded = find_crowded_nodes(facts.ranks);
  for (std::size_t r = 0; r < facts.ranks.size(); ++r) {
    const RankFacts& rank = facts.ranks[r];
    const bool is_crowded = std::any_of(crowded.begin(), crowded.end(), [&](const CrowdedNode& node) {
      return std::find(node.ranks.begin(), node.ranks.end(), static_cast<int>(r)) != node.ranks.end();
    });
    rows.push_back({std::to_string(r), rank.host, std::to_string(rank.node), core_ranges(rank.cores),
                    cat(rank.threads, is_crowded ? " (crowded)" : ""), rank.kernels});
  }
  std::string text = cat('\n', text_table(rows));
  for (const CrowdedNode& node : crowded) text += cat("\nwarning: ", describe(node), '\n');
  return text;
}

}  // namespace

std::string info_text(const InfoFacts& facts) {
  const Machine& machine = facts.machine;
  const std::string text =
      banner(cat("ronde ", library_version()), {{"backends", backend_line()},
                                                {"oneDNN", onednn_line()},
                                                {"MPI", mpi_line()},
                                                {"HDF5", hdf5_version()},
                                                {"GPU", gpu_line()},
                                                {"ranks", ranks_line(facts)},
                                                {"transport", facts.transport},
                                                {"processor", machine.processor},
                                                {"features", joined(machine.features, " ")},
                                                {"cores", cores_line(machine)},
                                                {"memory", memory_line(machine)},
                                                {"shared memory", shared_memory_line(machine)},
                                                {"network", network_line(machine)},
                                                {"system", cat(machine.host, ", ", machine.system)},
                                                {"data", default_data_directory()},
                                                {"MNIST", dataset_line(has_mnist(), "mnist")},
                                                {"CIFAR-10", dataset_line(has_cifar10(), "cifar10")}});
  const bool is_alone = facts.ranks.size() == 1 && find_crowded_nodes(facts.ranks).empty();
  return is_alone ? text : text + rank_table(facts);
}

}  // namespace ronde::apps
