#include <ronde/distributed/rank_facts.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include <ronde/core/backend.h>
#include <ronde/core/build_info.h>
#include <ronde/core/counted.h>
#include <ronde/core/machine.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/mpi_communicator.h>

#include "transport/ranks_text.h"

namespace ronde::inline v0 {
namespace {

constexpr std::size_t kFields = 11;

// A field on each line; none of them holds one.
std::string encode(const RankFacts& facts) {
  std::string text =
      cat(facts.host, '\n', facts.node, '\n', facts.process, '\n', facts.core_limit, '\n', facts.threads,
          '\n', facts.version, '\n', facts.mpi, '\n', facts.kernels, '\n', facts.float_kernels, '\n');
  for (const int core : facts.cores) text += cat(core, ' ');
  return cat(text, '\n', facts.rank);
}

int number(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

RankFacts decode(const std::string& text) {
  std::vector<std::string> fields = split(text, '\n');
  fields.resize(kFields);
  RankFacts facts{.rank = number(fields[10]),
                  .host = fields[0],
                  .node = number(fields[1]),
                  .process = number(fields[2]),
                  .cores = {},
                  .core_limit = std::atof(fields[3].c_str()),
                  .threads = number(fields[4]),
                  .version = fields[5],
                  .mpi = fields[6],
                  .kernels = fields[7],
                  .float_kernels = fields[8]};
  for (const std::string& core : split(fields[9], ' '))
    if (!core.empty()) facts.cores.push_back(number(core));
  return facts;
}

std::string kernels(DType computed) {
  const std::string library = onednn_version();
  return library.empty() ? "plain loops"
                         : cat("oneDNN ", library, ", ", instruction_set(computed), ", ",
                               convolution_algorithm(), " convolutions");
}

// "0.1.0 on ranks 0-2 (node1), 0.2.0 on rank 3 (node2)"
std::string who_has_what(const std::vector<RankFacts>& ranks, std::string RankFacts::*what) {
  struct Owners {
    std::string host;  // of the first
    std::vector<int> ranks;
  };
  std::map<std::string, Owners> having;
  for (const RankFacts& rank : ranks) {
    Owners& owners = having[rank.*what];
    if (owners.ranks.empty()) owners.host = rank.host;
    owners.ranks.push_back(rank.rank);
  }
  std::string text;
  for (const auto& [value, owners] : having)
    text += cat(text.empty() ? "" : ", ", value.empty() ? "none" : value, " on ", ranks_text(owners.ranks),
                " (", owners.host, owners.ranks.size() > 1 ? ", ...)" : ")");
  return text;
}

void require_same(const std::vector<RankFacts>& ranks, std::string RankFacts::*what,
                  const std::string& problem, const std::string& advice) {
  const bool same = std::all_of(ranks.begin(), ranks.end(),
                                [&](const RankFacts& rank) { return rank.*what == ranks.front().*what; });
  if (!same)
    throw CollectiveError(cat("[ranks] ", problem, ": ", who_has_what(ranks, what), "; ", advice),
                          ExitStatus::usage, 0, ranks.front().rank);
}

// The ranks of a node whose cores all lie within `cores`, against these cores.
CrowdedNode load_of(const std::vector<RankFacts>& ranks, int node, const std::set<int>& cores) {
  CrowdedNode load{.host = {}, .ranks = {}, .threads = 0, .cores = static_cast<int>(cores.size())};
  std::set<int> processes;
  double limit = 0.0;
  for (const RankFacts& rank : ranks) {
    const bool is_within =
        std::all_of(rank.cores.begin(), rank.cores.end(), [&](int core) { return cores.contains(core); });
    if (rank.node != node || !is_within) continue;
    load.host = rank.host;
    load.ranks.push_back(rank.rank);
    limit = std::max(limit, rank.core_limit);
    // Ranks that are threads of a process share its pool.
    if (processes.insert(rank.process).second) load.threads += rank.threads;
  }
  if (limit > 0.0) load.cores = std::min(load.cores, static_cast<int>(std::ceil(limit)));
  return load;
}

double crowding(const CrowdedNode& load) {
  return static_cast<double>(load.threads) / std::max(1, load.cores);
}

}  // namespace

RankFacts own_rank_facts(const Communicator& communicator) {
  const Machine machine = this_machine();
  return {.rank = communicator.world_rank(communicator.rank()),
          .host = machine.host,
          .node = communicator.cross_rank(),
          .process = static_cast<int>(::getpid()),
          .cores = machine.cores,
          .core_limit = machine.core_limit,
          .threads = default_backend().threads().size(),
          .version = library_version(),
          .mpi = communicator.name() == "mpi" ? mpi_library_version() : "",
          .kernels = kernels(DType::bf16),
          .float_kernels = kernels(DType::f32)};
}

std::vector<RankFacts> gather_rank_facts(Communicator& communicator) {
  std::vector<RankFacts> ranks;
  for (const std::string& text : allgather_strings(communicator, encode(own_rank_facts(communicator))))
    ranks.push_back(decode(text));
  return ranks;
}

void require_same_libraries(const std::vector<RankFacts>& ranks) {
  require_same(ranks, &RankFacts::version, "ranks run different versions of Ronde",
               "install the same on all machines");
  require_same(ranks, &RankFacts::mpi, "ranks run different MPI libraries",
               "install the same on all machines");
}

void require_same_kernels(const std::vector<RankFacts>& ranks, DType computed) {
  require_same(ranks, computed == DType::bf16 ? &RankFacts::kernels : &RankFacts::float_kernels,
               "deterministic training needs the same kernels on all ranks, which round differently here",
               "set RONDE_ISA to what all of them have");
}

std::vector<CrowdedNode> find_crowded_nodes(const std::vector<RankFacts>& ranks) {
  std::map<int, std::set<std::set<int>>> places;  // of each node: sets of cores that ranks are bound to
  for (const RankFacts& rank : ranks) places[rank.node].insert({rank.cores.begin(), rank.cores.end()});
  std::vector<CrowdedNode> crowded;
  for (auto& [node, sets] : places) {
    std::set<int> all;
    for (const std::set<int>& cores : sets) all.insert(cores.begin(), cores.end());
    sets.insert(all);
    CrowdedNode worst;
    for (const std::set<int>& cores : sets) {
      CrowdedNode load = load_of(ranks, node, cores);
      if (crowding(load) > std::max(1.0, crowding(worst))) worst = std::move(load);
    }
    if (worst.threads > 0) crowded.push_back(std::move(worst));
  }
  return crowded;
}

std::string describe(const CrowdedNode& node) {
  const auto ranks = static_cast<int>(node.ranks.size());
  const std::string cores = to_string(counted(node.cores, "core"));
  const std::string advice =
      ranks <= node.cores
          ? cat("give each rank ", std::max(1, node.cores / ranks), " with --threads or RONDE_THREADS")
          : cat("start at most ", node.cores, " there, or give the job more cores");
  return cat(node.host, ": ", counted(ranks, "rank"), " with ", counted(node.threads, "thread"),
             " in all share ", cores, ", so they take turns and wait for each other; ", advice);
}

}  // namespace ronde::inline v0
