// `ronde data get mnist|cifar10`
#include <cstdio>
#include <memory>

#include "common/cifar10_data.h"
#include "common/mnist_data.h"
#include "ronde/commands.h"

namespace ronde::apps {
namespace {

struct DataGetOptions {
  std::string name;
  std::string directory;
};

void get_data(const DataGetOptions& options) {
  const DataSource source = options.name == "mnist" ? mnist_source() : cifar10_source();
  source.fetch(options.directory);
  std::printf("%s\n", source.load(options.directory).description.c_str());
}

}  // namespace

Command data_get_command() {
  const auto options = std::make_shared<DataGetOptions>();
  return {.name = "data get",
          .help = "fetch a data set, pinned by SHA-256",
          .details = "What is there already is left as it is.\n\n  ronde data get cifar10",
          .arguments = {argument("NAME", "mnist|cifar10", one_of(options->name, {"mnist", "cifar10"})),
                        option("--data-dir", "DIR", "where to (default: $RONDE_DATA, else ~/.cache/ronde)",
                               text(options->directory))},
          .run = [options](Communicator& world) { on_main(world, [&] { get_data(*options); }); }};
}

}  // namespace ronde::apps
