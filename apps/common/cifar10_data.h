/// CIFAR-10 for a trainer and for `ronde`.
#pragma once

#include <string>

#include "common/training_data.h"

namespace ronde::apps {

/// Fetches CIFAR-10's archive into `directory`/cifar10, with a progress line on stderr; nothing where
/// open_cifar10 finds a set, of whatever form.
void fetch_cifar10(const std::string& directory);

DataSource cifar10_source();

}  // namespace ronde::apps
