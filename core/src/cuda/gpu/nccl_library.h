/// NCCL, opened at run time: a machine with one GPU does without it. nccl.h is needed to compile, nothing to
/// link.
#pragma once

#include <cstddef>
#include <string>

#include <nccl.h>

namespace ronde::inline v0::cuda {

/// The functions that are used here, under their own names without the prefix.
struct NcclLibrary {
  decltype(&ncclGetVersion) GetVersion = nullptr;
  decltype(&ncclGetErrorString) GetErrorString = nullptr;
  decltype(&ncclGetLastError) GetLastError = nullptr;
  decltype(&ncclGetUniqueId) GetUniqueId = nullptr;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig = nullptr;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError = nullptr;
  decltype(&ncclCommFinalize) CommFinalize = nullptr;
  decltype(&ncclCommDestroy) CommDestroy = nullptr;
  decltype(&ncclCommAbort) CommAbort = nullptr;
  decltype(&ncclCommRegister) CommRegister = nullptr;
  decltype(&ncclCommDeregister) CommDeregister = nullptr;
  decltype(&ncclAllReduce) AllReduce = nullptr;
  decltype(&ncclBroadcast) Broadcast = nullptr;
  decltype(&ncclAllGather) AllGather = nullptr;
  decltype(&ncclReduceScatter) ReduceScatter = nullptr;

  /// Windows, of 2.27 and newer; all or none of these. The header may be older, so they are declared here.
  ncclResult_t (*CommWindowRegister)(ncclComm_t, void*, std::size_t, void** window, int flags) = nullptr;
  ncclResult_t (*CommWindowDeregister)(ncclComm_t, void* window) = nullptr;
  decltype(&ncclMemAlloc) MemAlloc = nullptr;
  decltype(&ncclMemFree) MemFree = nullptr;
  bool has_windows = false;

  std::string problem;  ///< why it cannot be used; empty: it can
  std::string version;  ///< "2.28.9"
};

/// `$RONDE_NCCL` if set, else libnccl.so.2 as the loader finds it; opened on the first call.
const NcclLibrary& nccl();

}  // namespace ronde::inline v0::cuda
