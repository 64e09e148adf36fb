#include "common/program.h"

#include <cstdio>
#include <cstdlib>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/distributed/runtime.h>

#include "common/same_options.h"

namespace ronde::apps {
namespace {

void use_threads(const TrainOptions& options) {
  if (!options.threads) return;
  for (Backend* backend : backends()) backend->threads().resize(static_cast<int>(*options.threads));
}

}  // namespace

int program_main(int argc, char** argv, const ProgramInfo& info, const ProgramBody& body) {
  TrainOptions options;
  CommandLine line(info.name, info.summary);
  declare_train_options(line, options, info.recipes);

  // A rank whose options are wrong still joins the others, so that one of them can speak for all.
  std::string wrong_usage;
  try {
    if (const std::optional<std::string> text = line.parse(argc, argv)) {
      if (launch_rank() == 0) std::fputs(text->c_str(), stdout);
      return 0;
    }
    check_train_options(options);
  } catch (const UsageError& error) {
    wrong_usage = error.what();
  }

  // It became the option --threads; `init` would only complain of a wrong one in other words.
  ::unsetenv("RONDE_THREADS");
  return run_main(argc, argv, [&](Communicator& world) {
    collectively(world, [&] { require<UsageError>(wrong_usage.empty(), wrong_usage); });
    require_same_options(world, line.settings());
    use_threads(options);
    body(world, options);
  });
}

}  // namespace ronde::apps
