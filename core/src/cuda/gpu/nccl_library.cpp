#include "cuda/gpu/nccl_library.h"

#include <cstdlib>

#include <dlfcn.h>

namespace ronde::inline v0::cuda {

namespace {

constexpr int kOldest = 21900;  // registered buffers; 2.19

template <class F>
void find(void* library, const char* name, F& function, std::string& problem) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function && problem.empty()) problem = std::string("libnccl.so.2 has no ") + name;
}

void find_windows(void* library, NcclLibrary& nccl) {
  std::string missing;
  find(library, "ncclCommWindowRegister", nccl.CommWindowRegister, missing);
  find(library, "ncclCommWindowDeregister", nccl.CommWindowDeregister, missing);
  find(library, "ncclMemAlloc", nccl.MemAlloc, missing);
  find(library, "ncclMemFree", nccl.MemFree, missing);
  nccl.has_windows = missing.empty();
}

std::string version_text(int code) {
  return std::to_string(code / 10000) + '.' + std::to_string(code / 100 % 100) + '.' +
         std::to_string(code % 100);
}

NcclLibrary open() {
  NcclLibrary nccl;
  const char* chosen = std::getenv("RONDE_NCCL");
  const char* file = chosen && *chosen ? chosen : "libnccl.so.2";
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror();
    nccl.problem = error ? error : file;
    return nccl;
  }
  find(library, "ncclGetVersion", nccl.GetVersion, nccl.problem);
  find(library, "ncclGetErrorString", nccl.GetErrorString, nccl.problem);
  find(library, "ncclGetLastError", nccl.GetLastError, nccl.problem);
  find(library, "ncclGetUniqueId", nccl.GetUniqueId, nccl.problem);
  find(library, "ncclCommInitRankConfig", nccl.CommInitRankConfig, nccl.problem);
  find(library, "ncclCommGetAsyncError", nccl.CommGetAsyncError, nccl.problem);
  find(library, "ncclCommFinalize", nccl.CommFinalize, nccl.problem);
  find(library, "ncclCommDestroy", nccl.CommDestroy, nccl.problem);
  find(library, "ncclCommAbort", nccl.CommAbort, nccl.problem);
  find(library, "ncclCommRegister", nccl.CommRegister, nccl.problem);
  find(library, "ncclCommDeregister", nccl.CommDeregister, nccl.problem);
  find(library, "ncclAllReduce", nccl.AllReduce, nccl.problem);
  find(library, "ncclBroadcast", nccl.Broadcast, nccl.problem);
  find(library, "ncclAllGather", nccl.AllGather, nccl.problem);
  find(library, "ncclReduceScatter", nccl.ReduceScatter, nccl.problem);
  find_windows(library, nccl);
  if (!nccl.problem.empty()) return nccl;
  int code = 0;
  if (nccl.GetVersion(&code) != ncclSuccess || code < kOldest)
    nccl.problem = "libnccl.so.2 is " + version_text(code) + ", but 2.19 or newer is needed";
  nccl.version = version_text(code);
  return nccl;
}

}  // namespace

const NcclLibrary& nccl() {
  static const NcclLibrary library = open();
  return library;
}

}  // namespace ronde::inline v0::cuda
