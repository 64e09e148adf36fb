#include "backend/onednn/onednn_backend.h"

#include <oneapi/dnnl/dnnl.h>

#include "backend/onednn/backend.h"
#include "backend/onednn/isa.h"

namespace ronde::inline v0 {

namespace {

// oneDNN generates its own code: it has to stay within the set that was asked for too. It refuses once it
// has generated some, which only an application that uses it itself can bring about.
void limit_onednn(Isa isa) {
  if (isa == Isa::portable) dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
  if (isa == Isa::avx2) dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
}

}  // namespace

OneDnnBackend::OneDnnBackend(const Kernels& kernels, ConvAlgorithm algorithm)
    : kernels_(kernels), uses_winograd_(algorithm == ConvAlgorithm::winograd) {}

std::unique_ptr<Backend> make_onednn_backend() {
  const Isa isa = chosen_isa();
  limit_onednn(isa);
  return std::make_unique<OneDnnBackend>(kernels_of(isa), chosen_conv_algorithm());
}

}  // namespace ronde::inline v0
