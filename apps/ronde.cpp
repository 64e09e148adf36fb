// The tool beside the trainers: `ronde info`, `ronde data get mnist`.
#include <cstdio>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/data_directory.h>
#include <ronde/distributed/runtime.h>
#include <CLI/CLI.hpp>

#include "common/mnist_data.h"

namespace {

void print_info(ronde::Communicator& world) {
  if (world.rank() != 0) return;
  std::printf("ronde %s\n", RONDE_VERSION);
  for (const ronde::Backend* backend : ronde::backends())
    std::printf("  backend  %s on %s%s\n", backend->name().c_str(),
                ronde::to_string(backend->device()).c_str(),
                backend == &ronde::default_backend() ? " (default)" : "");
  std::printf("  threads  %d\n  ranks    %d (%s)\n  data     %s\n", ronde::default_backend().threads().size(),
              world.size(), world.name().c_str(), ronde::default_data_directory().c_str());
}

void get_data(const std::string& name, const std::string& directory) {
  ronde::require<ronde::UsageError>(name != "cifar10", "data get cifar10 is not available yet");
  ronde::require<ronde::UsageError>(name == "mnist", "no data set ", name, ": give mnist");
  ronde::apps::fetch_mnist(directory);
  std::printf("%s\n", ronde::load_mnist({.directory = directory}).description().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What is built in, and data to train on.", "ronde");
  app.set_version_flag("--version", std::string("ronde ") + RONDE_VERSION);
  app.require_subcommand(1);
  std::string name, directory;
  CLI::App* info = app.add_subcommand("info", "print what is built in");
  CLI::App* data = app.add_subcommand("data", "data sets");
  data->require_subcommand(1);
  CLI::App* get = data->add_subcommand("get", "fetch a data set, pinned by SHA-256");
  get->add_option("name", name, "mnist")->required();
  get->add_option("--data-dir", directory, "default: $RONDE_DATA, else ~/.cache/ronde");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {
    return ronde::launch_rank() == 0 ? app.exit(wanted) : 0;
  } catch (const CLI::ParseError& error) {
    if (ronde::launch_rank() == 0) std::fprintf(stderr, "ronde: %s: see `ronde --help`\n", error.what());
    return static_cast<int>(ronde::ExitStatus::usage);
  }
  return ronde::run_main(argc, argv, [&](ronde::Communicator& world) {
    if (info->parsed()) print_info(world);
    if (get->parsed())
      ronde::collectively(world, [&] {
        if (world.rank() == 0) get_data(name, directory);
      });
  });
}
