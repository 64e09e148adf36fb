/// The machines of a job, as Open MPI lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ronde::apps {

struct Host {
  std::string name;
  int slots = 1;
};

/// "node1:4,node2", or the name of a file with lines "node1 slots=4". Throws a UsageError.
std::vector<Host> parse_hosts(const std::string& text);
/// "node1:4,node2:1"
std::string to_text(const std::vector<Host>& hosts);
std::int64_t slots_of(const std::vector<Host>& hosts);
/// None, or all of them this one.
bool is_one_machine(const std::vector<Host>& hosts);
/// Those that answer within a few seconds, asked all at once through mpirun's remote shell
/// ($PRTE_MCA_plm_ssh_agent or $OMPI_MCA_plm_rsh_agent, else ssh). This machine is always there.
std::vector<Host> find_alive(const std::vector<Host>& hosts);

}  // namespace ronde::apps
