#include "common/training_data.h"

#include <optional>

#include "common/same_options.h"

namespace ronde::apps {

TrainingData load_training_data(Communicator& world, const TrainOptions& options, const DataSource& source) {
  if (options.download)
    collectively(world, [&] {
      if (world.local_rank() == 0) source.fetch(options.data_dir);
    });
  std::optional<TrainingData> data;
  collectively(world, [&] { data.emplace(source.load(options.data_dir)); });
  // Without the directory, which may have another name on another node.
  const std::string& line = data->description;
  require_same(world, "the data set", line.substr(0, line.find(" from ")), ExitStatus::bad_input);
  return std::move(*data);
}

}  // namespace ronde::apps
