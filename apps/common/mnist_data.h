/// MNIST for a trainer and for `ronde`.
#pragma once

#include <string>

#include "common/training_data.h"

namespace ronde::apps {

/// Fetches what is missing of MNIST into `directory`/mnist, with a progress line on stderr; nothing where
/// load_mnist finds a set, of whatever form.
void fetch_mnist(const std::string& directory);

DataSource mnist_source();

/// Looks in `directory`/fashion-mnist (the default data directory's, if it is empty), in `directory` itself,
/// and where Debian's package puts it. IoError when it is in none; InputError when what is there is MNIST.
TrainingData load_fashion_mnist(const std::string& directory);

}  // namespace ronde::apps
