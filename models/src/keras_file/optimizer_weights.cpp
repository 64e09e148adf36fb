#include "keras_file/optimizer_weights.h"

#include <utility>

#include <ronde/core/counted.h>

#include "keras_file/hdf5_dataset.h"
#include "keras_file/layout.h"

namespace ronde::inline v0 {

namespace {

using hdf5::check;
using hdf5::Handle;
using hdf5::has_object;
using hdf5::Hdf5Error;
using hdf5::open_object;

/// A count is an integer scalar, all else floats.
Tensor read_value(hid_t group, const std::string& name) {
  const Handle dataset = open_object(group, name);
  require<Hdf5Error>(H5Iget_type(dataset) == H5I_DATASET, name, " is not a dataset");
  const Handle type(H5Dget_type(dataset), H5Tclose, cat("reading ", name));
  if (H5Tget_class(type) != H5T_INTEGER) return hdf5::read_dataset(group, name);
  const Handle space(H5Dget_space(dataset), H5Sclose, cat("reading ", name));
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  require<Hdf5Error>(count == 1, name, " holds ", counted(count, "integer"), ", not one");
  std::int64_t value = 0;
  check(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), cat("reading ", name));
  return Tensor::from<std::int64_t>({}, {value});
}

}  // namespace

std::vector<SavedWeight> read_optimizer_weights(hid_t file) {
  std::vector<SavedWeight> weights;
  if (has_object(file, layout::kOptimizerWeights)) {
    const Handle group = open_object(file, layout::kOptimizerWeights);
    for (const std::string& name : hdf5::read_texts(group, layout::kWeightNames))
      weights.push_back({name, read_value(group, name)});
  } else if (has_object(file, layout::kOptimizerVars)) {
    const Handle group = open_object(file, layout::kOptimizerVars);
    for (int i = 0; has_object(group, std::to_string(i)); ++i)
      weights.push_back({std::to_string(i), read_value(group, std::to_string(i))});
  }
  return weights;
}

void write_optimizer_weights(hid_t file, std::vector<SavedWeight> weights, SavedLayout layout) {
  if (weights.empty()) return;
  const bool by_name = layout == SavedLayout::h5;
  const Handle group = hdf5::ensure_group(file, by_name ? layout::kOptimizerWeights : layout::kOptimizerVars);
  std::vector<std::string> names;
  for (SavedWeight& weight : weights) {
    const std::string name = by_name ? weight.name : std::to_string(names.size());
    hdf5::write_dataset(group, name, std::exchange(weight.values, {}));
    names.push_back(name);
  }
  if (by_name) hdf5::write_attribute(group, layout::kWeightNames, names);
}

}  // namespace ronde::inline v0
