#include "keras_file/keras3_layers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <ronde/core/counted.h>

#include "files/nesting.h"
#include "keras_file/hdf5_dataset.h"
#include "keras_file/layout.h"

namespace ronde::inline v0 {

namespace {

using hdf5::check;
using hdf5::Handle;
using hdf5::has_object;
using hdf5::Hdf5Error;
using hdf5::open_object;

constexpr const char* kVars = "vars";
constexpr std::string_view kLayers = "layers";
constexpr std::string_view kLayersBefore2_14 = "_layer_checkpoint_dependencies";

/// The parts of a MultiHeadAttention, which Keras 2 and the first of Keras 3 call "_query_dense" and so on.
constexpr std::array<std::string_view, 4> kParts{"query_dense", "key_dense", "value_dense", "output_dense"};

bool is_part(std::string_view name) {
  return std::find(kParts.begin(), kParts.end(), name) != kParts.end();
}

/// More than any net has: a file whose groups contain each other would never end.
constexpr std::size_t kMaxGroups = 100'000;

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* all) -> herr_t {
    static_cast<std::vector<std::string>*>(all)->emplace_back(name);
    return 0;
  };
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), "listing a group");
  return names;
}

bool is_group(hid_t object) {
  return H5Iget_type(object) == H5I_GROUP;
}

/// Parts of the root that hold no weights of layers.
bool is_of_training(const std::string& path) {
  static constexpr std::array<std::string_view, 4> kNames{"optimizer", "metrics", "loss", layout::kState};
  return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

class Keras3Reader {
 public:
  explicit Keras3Reader(SavedModel& model) : model_(model) {}

  void read(hid_t group, const std::string& path, std::size_t depth) {
    require<Hdf5Error>(depth <= kMaxGroupDepth && ++groups_ <= kMaxGroups, "its groups do not end");
    for (const std::string& name : names_in(group)) {
      std::string known = name == kLayersBefore2_14 ? std::string(kLayers) : name;
      if (name.front() == '_' && is_part(name.substr(1))) known = name.substr(1);
      if (known != name && has_object(group, known)) continue;  // the same under its newer name
      const std::string below = path.empty() ? known : cat(path, "/", known);
      if (is_of_training(below)) continue;
      const Handle child = open_object(group, name);
      if (!is_group(child)) continue;
      if (name == kVars)
        read_vars(child, path);
      else
        read(child, below, depth + 1);
    }
  }

 private:
  void read_vars(hid_t group, const std::string& path) {
    SavedLayer layer{path, {}};
    const std::size_t count = names_in(group).size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      require<Hdf5Error>(has_object(group, name), path, " has ", counted(count, "weight"),
                         ", but none numbered ", i);
      layer.weights.push_back({name, hdf5::read_dataset(group, name)});
    }
    if (count > 0) model_.layers.push_back(std::move(layer));
  }

  SavedModel& model_;
  std::size_t groups_ = 0;
};

}  // namespace

bool has_keras3_layers(hid_t file) {
  return has_object(file, kVars) || has_object(file, std::string(kLayers)) ||
         has_object(file, std::string(kLayersBefore2_14));
}

void read_keras3_layers(hid_t file, SavedModel& model) {
  model.layout = SavedLayout::weights_h5;
  model.keras_version = std::string("3");  // the layout's; such a file does not name its writer
  Keras3Reader(model).read(open_object(file, "/"), "", 0);
}

void write_keras3_layers(hid_t file, SavedModel& model) {
  if (model.layout == SavedLayout::h5) model.layers = std::exchange(model.layers_by_class, {});
  std::vector<SavedLayer>& layers = model.layers;
  require(!layers.empty(), "[save] the layers of this model are not known by their classes");
  hdf5::ensure_group(file, kVars);  // weights of the model itself, which every such file has a place for
  for (SavedLayer& layer : layers) {
    const auto depth = static_cast<std::size_t>(std::count(layer.name.begin(), layer.name.end(), '/')) + 1;
    require<UsageError>(depth <= kMaxGroupDepth, "[save] weights lie in ", depth, " groups, more than the ",
                        kMaxGroupDepth, " that a file holds, ", kMaxNetDepth, " levels of nets within nets");
    const Handle vars = hdf5::ensure_group(file, layer.name.empty() ? kVars : cat(layer.name, "/", kVars));
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      hdf5::write_dataset(vars, std::to_string(i), std::exchange(layer.weights[i].values, {}));
    const std::size_t last = layer.name.rfind('/') + 1;
    if (!is_part(layer.name.substr(last))) continue;
    const std::string older = cat(layer.name.substr(0, last), "_", layer.name.substr(last));
    check(H5Lcreate_hard(file, layer.name.c_str(), file, older.c_str(), H5P_DEFAULT, H5P_DEFAULT),
          "naming a group once more");
  }
}

}  // namespace ronde::inline v0
