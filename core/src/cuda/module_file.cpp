#include "cuda/module_file.h"

#include <cstdlib>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <ronde/core/text.h>

namespace ronde::inline v0::cuda {

namespace {

constexpr const char* kFileName = "libronde_cuda.so";

// Of the library (or the program) that this code is in; empty if nobody knows.
std::string own_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&open_module), &info) == 0 || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::vector<std::string> candidates() {
  const char* chosen = std::getenv("RONDE_CUDA_MODULE");
  if (chosen && *chosen) return {chosen};
  const std::string directory = own_directory();
  std::vector<std::string> paths;
  if (!directory.empty()) paths.push_back(cat(directory, '/', kFileName));
  paths.emplace_back(kFileName);
  return paths;
}

std::string last_error() {
  const char* text = dlerror();
  return text ? text : "for an unknown reason";
}

OpenedModule opened(void* handle, const std::string& path) {
  OpenedModule result;
  result.path = path;
  const auto factory = reinterpret_cast<ModuleFactory>(dlsym(handle, kModuleSymbol));
  const Module* module = factory ? factory() : nullptr;
  if (!module)
    result.problem = cat("the module ", path, " is none of Ronde's: it has no ", kModuleSymbol);
  else if (module->version != kModuleVersion)
    result.problem = cat("the module ", path, " has version ", module->version, ", but this library needs ",
                         kModuleVersion, ": install both from one build");
  else
    result.module = module;
  return result;
}

}  // namespace

bool is_worth_opening() {
  const char* chosen = std::getenv("RONDE_CUDA_MODULE");
  return (chosen && *chosen) || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

OpenedModule open_module() {
  OpenedModule result;
  std::string looked;
  for (const std::string& path : candidates()) {
    // Never closed: what it made may live as long as the process. Its names stay its own.
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened(handle, path);
    const std::string error = last_error();
    if (path.find('/') != std::string::npos && access(path.c_str(), R_OK) == 0) {
      result.path = path;
      result.problem = cat("the module ", path, " does not load: ", error);
      result.is_library_missing = true;
      return result;
    }
    looked += cat(looked.empty() ? "" : ", ", path);
  }
  result.problem = cat("the module ", kFileName, " was not found (looked for ", looked,
                       "); $RONDE_CUDA_MODULE names another place");
  return result;
}

}  // namespace ronde::inline v0::cuda
