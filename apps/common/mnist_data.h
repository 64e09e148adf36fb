/// MNIST for a job of several ranks.
#pragma once

#include <string>

#include <ronde/data/mnist.h>
#include <ronde/data/subset.h>
#include <ronde/distributed/communicator.h>

#include "common/train_options.h"

namespace ronde::apps {

/// Collective: fetches MNIST if asked to (one rank of each node does it), loads it on every rank, and makes
/// sure that all ranks have the same. Progress goes to stderr.
Mnist load_mnist_data(Communicator& world, const TrainOptions& options);

/// Fetches what is missing of MNIST into `directory`/mnist, with a progress line on stderr.
void fetch_mnist(const std::string& directory);

}  // namespace ronde::apps
