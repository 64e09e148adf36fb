/// Finds and opens the module that holds the GPU half.
#pragma once

#include <string>

#include "cuda/module.h"

namespace ronde::inline v0::cuda {

struct OpenedModule {
  const Module* module = nullptr;
  std::string path;
  std::string problem;              ///< why there is none
  bool is_library_missing = false;  ///< the file is there, but not what it is linked with
};

/// `$RONDE_CUDA_MODULE` if set, else `libronde_cuda.so` beside this library, else as the loader finds it.
/// Stays open until the process ends.
OpenedModule open_module();

/// Whether a module could do anything here: NVIDIA's driver is there, or a module was named. Costs little,
/// while a module brings hundreds of megabytes of libraries.
bool is_worth_opening();

}  // namespace ronde::inline v0::cuda
