/// TrainingData: a data set for a job of several ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ronde/data/dataset.h>
#include <ronde/distributed/communicator.h>

#include "common/train_options.h"

namespace ronde::apps {

struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::string description;  ///< a line for the banner
};

/// How to come by one data set.
struct DataSource {
  std::function<void(const std::string& directory)> fetch;
  std::function<TrainingData(const std::string& directory)> load;
};

/// Collective: fetches the data if asked to (one rank of each node does it), loads it on every rank, and
/// makes sure that all ranks have the same.
TrainingData load_training_data(Communicator& world, const TrainOptions& options, const DataSource& source);

}  // namespace ronde::apps
