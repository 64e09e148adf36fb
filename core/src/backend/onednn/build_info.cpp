#include <ronde/core/build_info.h>

#include <oneapi/dnnl/dnnl.h>

#include <ronde/core/text.h>

#include "backend/onednn/conv_algorithm.h"
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return cat(version->major, ".", version->minor, ".", version->patch);
}

std::string instruction_set(DType computed) {
  const Isa isa = chosen_isa();
  const bool is_vectors_of_bfloat16 = isa == Isa::avx512_bf16;  // floats have no use for them
  return name_of(computed != DType::bf16 && is_vectors_of_bfloat16 ? Isa::avx512 : isa);
}

std::string convolution_algorithm() {
  return chosen_conv_algorithm() == ConvAlgorithm::winograd ? "winograd" : "direct";
}

}  // namespace ronde::inline v0
