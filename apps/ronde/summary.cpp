// `ronde summary FILE`
#include <cstdio>
#include <memory>

#include <ronde/models/model.h>

#include "ronde/commands.h"
#include "ronde/file_content.h"

namespace ronde::apps {

Command summary_command() {
  const auto file = std::make_shared<std::string>();
  return {.name = "summary",
          .help = "print the layers of a model, their shapes and parameters",
          .details = {},
          .arguments = {argument("FILE", "model file", text(*file))},
          .run = [file](Communicator& world) {
            on_main(world, [&] { std::fputs(load_model(*file).summary().c_str(), stdout); });
          }};
}

}  // namespace ronde::apps
