#include <nlohmann/json.hpp>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/cuda.h>
#include <ronde/data/cifar10.h>
#include <ronde/data/data_directory.h>
#include <ronde/data/mnist.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/models/build_info.h>

#include "ronde/info_facts.h"

namespace ronde::apps {
namespace {

using Json = nlohmann::ordered_json;

bool is_any_gpu_usable() {
  const CudaFacts& facts = cuda_facts();
  for (std::size_t i = 0; facts.usable() && i < facts.devices.size(); ++i)
    if (cuda_obstacle(static_cast<int>(i)).empty()) return true;
  return false;
}

Json build_json() {
  Json names = Json::array();
  for (const Backend* backend : backends()) names.push_back(backend->name());
  return {{"version", library_version()},
          {"backends", names},
          {"default_backend", default_backend().name()},
          {"onednn", onednn_version()},
          {"instruction_set", instruction_set()},
          {"mpi", mpi_library_version()},
          {"mpi_thread_level", mpi_thread_level()},
          {"hdf5", hdf5_version()},
          {"gpu", is_any_gpu_usable()}};
}

Json gpu_json() {
  const CudaFacts& facts = cuda_facts();
  Json devices = Json::array();
  for (const CudaDevice& device : facts.devices)
    devices.push_back({{"name", device.name},
                       {"compute_capability", device.capability},
                       {"multiprocessors", device.multiprocessors},
                       {"memory_bytes", device.memory},
                       {"problem", facts.usable() ? cuda_obstacle(static_cast<int>(devices.size())) : ""}});
  return {{"usable", is_any_gpu_usable()},
          {"missing", to_string(facts.missing)},
          {"problem", facts.problem},
          {"module", facts.module},
          {"versions", facts.versions},
          {"driver", facts.driver},
          {"devices", devices}};
}

Json network_json(const NetworkInterface& network) {
  return {{"name", network.name},
          {"addresses", network.addresses},
          {"up", network.is_up},
          {"loopback", network.is_loopback},
          {"bits_per_second", network.bits_per_second}};
}

Json machine_json(const Machine& machine) {
  Json networks = Json::array();
  for (const NetworkInterface& network : machine.networks) networks.push_back(network_json(network));
  return {{"host", machine.host},
          {"system", machine.system},
          {"processor", machine.processor},
          {"features", machine.features},
          {"cores", machine.cores},
          {"physical_cores", machine.physical_cores},
          {"numa_nodes", machine.numa_nodes},
          {"core_limit", machine.core_limit},
          {"memory_bytes", machine.memory},
          {"memory_limit_bytes", machine.memory_limit},
          {"shared_memory_bytes", machine.shared_memory},
          {"shared_memory_free_bytes", machine.shared_memory_free},
          {"networks", networks}};
}

Json ranks_json(const std::vector<RankFacts>& ranks) {
  Json list = Json::array();
  for (const RankFacts& rank : ranks)
    list.push_back({{"host", rank.host},
                    {"node", rank.node},
                    {"cores", rank.cores},
                    {"core_limit", rank.core_limit},
                    {"threads", rank.threads},
                    {"version", rank.version},
                    {"kernels", rank.kernels}});
  return list;
}

Json crowded_json(const std::vector<CrowdedNode>& nodes) {
  Json list = Json::array();
  for (const CrowdedNode& node : nodes)
    list.push_back(
        {{"host", node.host}, {"ranks", node.ranks}, {"threads", node.threads}, {"cores", node.cores}});
  return list;
}

}  // namespace

std::string info_json(const InfoFacts& facts) {
  const Json json{
      {"build", build_json()},
      {"gpu", gpu_json()},
      {"machine", machine_json(facts.machine)},
      {"world", {{"size", facts.ranks.size()}, {"kind", facts.world}, {"transport", facts.transport}}},
      {"ranks", ranks_json(facts.ranks)},
      {"crowded", crowded_json(find_crowded_nodes(facts.ranks))},
      {"data",
       {{"directory", default_data_directory()}, {"mnist", has_mnist()}, {"cifar10", has_cifar10()}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::apps
