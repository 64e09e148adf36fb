// .npz archives: zip, deflate and .npy headers.
#include <ronde/core/backend.h>
#include <ronde/data/npz.h>
#include <ronde/data/zip.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  decode_npz(bytes, "fuzz.npz", 64 << 20);
}

std::vector<std::string> seeds() {
  const Tensor whole = Tensor::from<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}, &backend("cpu"));
  const Tensor real = Tensor::full({4}, 0.5, {.dtype = DType::f64, .backend = &backend("cpu")});
  return {encode_npz({{"x", whole}, {"y", real}}), encode_npz({{"x", real}}), encode_npz({})};
}

}  // namespace ronde::fuzz
