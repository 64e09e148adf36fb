// `ronde info`
#include <cstdio>
#include <memory>

#include "common/terminal_text.h"
#include "ronde/commands.h"
#include "ronde/info_facts.h"

namespace ronde::apps {

InfoFacts gather_info(Communicator& world) {
  return {.machine = this_machine(),
          .ranks = gather_rank_facts(world),
          .world = world.name(),
          .transport = world.transport()};
}

Command info_command() {
  const auto json = std::make_shared<bool>(false);
  return {.name = "info",
          .help = "print what is built in, and what this machine has",
          .details = "Under mpirun, also where each rank runs, and where ranks get in each other's way.",
          .arguments = {flag("--json", "for scripts", *json)},
          .run = [json](Communicator& world) {
            const InfoFacts facts = gather_info(world);
            on_main(world, [&] {
              std::fputs((*json ? info_json(facts) : for_terminal(info_text(facts))).c_str(), stdout);
            });
          }};
}

}  // namespace ronde::apps
