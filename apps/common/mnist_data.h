/// MNIST for a trainer and for `ronde`.
#pragma once

#include <string>

#include "common/training_data.h"

namespace ronde::apps {

/// Fetches what is missing of MNIST into `directory`/mnist, with a progress line on stderr.
void fetch_mnist(const std::string& directory);

DataSource mnist_source();

}  // namespace ronde::apps
