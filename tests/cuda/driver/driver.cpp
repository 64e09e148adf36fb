// A libcuda.so.1 for machines without a driver: cuDNN compiles kernels only where it finds one, but then asks
// little of it. A test that links this has a driver that knows no device, takes kernels and never runs one.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace {

constexpr int kSuccess = 0, kNoDevice = 100, kVersion = 13000;
int something = 0;  // what handles point to

int no_device() {
  return kNoDevice;
}
int succeed() {
  return kSuccess;
}
int tell_version(int* version) {
  *version = kVersion;
  return kSuccess;
}
int give_handle(void** handle) {
  *handle = &something;
  return kSuccess;
}
int give_zero(int* value) {
  *value = 0;
  return kSuccess;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void* function_named(std::string_view name) {
  if (name == "cuDriverGetVersion") return address(tell_version);
  if (is_one_of(name, {"cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuLibraryLoadData",
                       "cuLibraryGetKernel", "cuLibraryGetModule", "cuKernelGetFunction"}))
    return address(give_handle);
  if (is_one_of(name, {"cuFuncGetAttribute", "cuKernelGetAttribute"})) return address(give_zero);
  if (is_one_of(name, {"cuModuleUnload", "cuLibraryUnload", "cuFuncSetAttribute", "cuKernelSetAttribute"}))
    return address(succeed);
  return address(no_device);
}

/// A test may leave one function out, and cuDNN takes the driver for missing.
bool is_left_out(std::string_view name) {
  const char* left_out = std::getenv("RONDE_TEST_DRIVER_WITHOUT");
  return left_out && name == left_out;
}

using Lookup = void* (*)(void*, const char*);

Lookup lookup_of_system() {
  // Of glibc 2.34, and of older ones on x86_64 and aarch64.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
    if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Lookup>(found);
  return nullptr;
}

bool is_driver(void* library) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == driver;
}

}  // namespace

// Found ahead of the C library's: it has a function for every name that the driver is asked for, while a list
// of names would be complete until the next cuDNN.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* library, const char* name) noexcept {
  static const Lookup lookup = lookup_of_system();
  if (std::string_view(name).starts_with("cu") && is_driver(library))
    return is_left_out(name) ? nullptr : function_named(name);
  return lookup(library, name);
}
