#include "keras_file/run_state.h"

#include "json/json.h"
#include "keras_file/hdf5_dataset.h"
#include "keras_file/layout.h"
#include "weights/saved_run.h"

namespace ronde::inline v0 {

namespace {

constexpr const char* kValues = "values";

std::string dataset_name(std::size_t number) {
  return cat("tensor_", number);
}

}  // namespace

void write_run(hid_t state, const SavedRun& run) {
  const hdf5::Handle group = hdf5::ensure_group(state, layout::kRun);
  const PackedRun packed = pack_run(run);
  hdf5::write_attribute(group, kValues, to_json(packed.tree));
  // A dataset cannot be empty: what is missing in a file has no elements.
  for (std::size_t i = 0; i < packed.tensors.size(); ++i)
    if (packed.tensors[i].count() > 0) hdf5::write_dataset(group, dataset_name(i), packed.tensors[i]);
}

SavedRun read_run(hid_t run_group) {
  SavedRun run = unpack_run(from_json(hdf5::read_text(run_group, kValues)));
  const std::vector<SavedWeight*> tensors = tensors_of(run);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    tensors[i]->values = hdf5::has_object(run_group, dataset_name(i))
                             ? hdf5::read_dataset(run_group, dataset_name(i))
                             : Tensor::empty({0});
  return run;
}

}  // namespace ronde::inline v0
