#include <ronde/models/file_io.h>
#include <ronde/models/weights_npz.h>

namespace ronde::inline v0 {

void write_npz(const std::string& path, const NamedTensors& arrays) {
  atomic_write_file(path, encode_npz(arrays));
}

void write_npz(const std::string& path, const Module& net, WeightNames names) {
  write_npz(path, named_weights(net, names));
}

}  // namespace ronde::inline v0
