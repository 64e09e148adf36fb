#include "common/training_data.h"

#include <optional>

#include <ronde/core/error.h>

#include "common/same_options.h"

namespace ronde::apps {
namespace {

TrainingData load(const TrainOptions& options, const DataSource& source) {
  try {
    return source.load(options.data_dir);
  } catch (const InputError& error) {
    throw InputError(
        cat(error.what(),
            ": remove the file and fetch the data again with --download, or name another --data-dir"));
  }
}

}  // namespace

TrainingData load_training_data(Communicator& world, const TrainOptions& options, const DataSource& source) {
  if (options.download)
    collectively(world, [&] {
      if (world.local_rank() == 0) source.fetch(options.data_dir);
    });
  std::optional<TrainingData> data;
  collectively(world, [&] { data.emplace(load(options, source)); });
  // Without the directory, which may have another name on another node.
  const std::string& line = data->description;
  require_same(world, "the data set", line.substr(0, line.find(" from ")), ExitStatus::bad_input);
  return std::move(*data);
}

}  // namespace ronde::apps
