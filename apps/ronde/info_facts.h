/// What `ronde info` says, gathered once and shown as text or JSON.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/machine.h>
#include <ronde/distributed/rank_facts.h>

namespace ronde::apps {

struct InfoFacts {
  Machine machine;               ///< rank 0's
  std::vector<RankFacts> ranks;  ///< all of them
  std::string world;             ///< "mpi"
  std::string transport;         ///< how their data travels
};

/// Collective.
InfoFacts gather_info(Communicator& world);

std::string info_text(const InfoFacts& facts);
std::string info_json(const InfoFacts& facts);

}  // namespace ronde::apps
