/// What a device module exports: one C function that hands out this table. `libronde_cuda.so` is such a
/// module, the tests' fake another. Versioned: a module of another version is not used.
#pragma once

#include "cuda/runtime.h"

namespace ronde::inline v0::cuda {

/// Grows with every change of this table, of Runtime, of Collectives, of Call or of which calls are taken.
inline constexpr int kModuleVersion = 14;
inline constexpr const char* kModuleSymbol = "ronde_cuda_module";

struct ModuleFacts {
  char versions[192] = "";  ///< "CUDA 13.0, cuDNN 9.19.0, cuBLAS 13.0.2, NCCL 2.28.9"
  int driver = 0;           ///< 13000: CUDA 13.0, which the driver serves; 0: there is no driver
  int devices = 0;
  char no_collectives[256] = "";  ///< why several ranks cannot work together; empty: they can
};

struct Module {
  int version = kModuleVersion;
  /// What is there. `unsupported` without a driver or with one that is too old; facts are filled in anyway.
  Status (*look)(ModuleFacts* facts) = nullptr;
  Status (*describe)(int device, DeviceFacts* facts) = nullptr;
  Status (*open)(int device, Runtime** runtime) = nullptr;
  void (*close)(Runtime* runtime) = nullptr;
};

extern "C" {
/// `ronde_cuda_module` of a module; its answer lives as long as the process.
using ModuleFactory = const Module* (*)();
}

}  // namespace ronde::inline v0::cuda
