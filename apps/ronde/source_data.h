/// Data sets as they are named on the command line: mnist, fashion-mnist, cifar10, a folder of pictures, a
/// table, a packed file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ronde/data/dataset.h>

#include "common/command_line.h"
#include "ronde/byte_scale.h"

namespace ronde::apps {

struct DataRequest {
  std::string name;       ///< "mnist", "fashion-mnist", "cifar10" or a path
  std::string directory;  ///< of the sets with a name; empty: the default
  std::string split = "test";
  /// Of one sample, where the data leave it open (tables); pictures of a folder get its channels.
  std::optional<Shape> shape = {};
  bool resize = false;  ///< pictures of a folder to `shape`, instead of taking them as they are
  std::string label_column = {};
  std::optional<double> scale = {};  ///< of pixels; empty: byte_scale for bytes, 1 for other numbers
  double byte_scale = kByteScale;
  double offset = 0.0;
  std::vector<std::string> given = {};  ///< options that were given, by `noted`
};

/// `set`, which also notes in the request that the option was given.
Setter noted(DataRequest& request, const char* option, Setter set);

struct NamedData {
  std::shared_ptr<const Dataset> dataset;
  std::string description;  ///< a line
  bool can_resize = false;  ///< DataRequest::resize means something
  /// What bytes are multiplied by, where no --scale said it; empty also where there are no bytes.
  std::optional<double> byte_scale = {};
};

/// IoError when there is no such thing, InputError when it is damaged, UsageError for an option that this
/// kind of data does not have.
NamedData open_data(const DataRequest& request);

/// Takes "28x28", "28x28x1" (height, width, channels; 3 unless given).
Setter image_shape(std::optional<Shape>& target);
/// Takes "0.5", "-1" and "1/255".
Setter fraction(double& target);
Setter fraction(std::optional<double>& target);

}  // namespace ronde::apps
