// .npy arrays.
#include <ronde/core/backend.h>
#include <ronde/data/npz.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const MemoryFile file(bytes);
  read_npy(file.path(), 64 << 20);
}

std::vector<std::string> seeds() {
  std::vector<std::string> files;
  for (const DType dtype : {DType::u8, DType::i32, DType::f32, DType::f64})
    files.push_back(encode_npy(Tensor::full({2, 3}, 1.0, {.dtype = dtype, .backend = &backend("cpu")})));
  return files;
}

}  // namespace ronde::fuzz
