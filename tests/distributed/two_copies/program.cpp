// Run by mpirun: a program with a copy of the library in it, which opens a plugin with one of its own. The
// word says which of them starts MPI.
#include <dlfcn.h>

#include <cstdio>
#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/values.h>

namespace {

using namespace ronde;

template <class F>
F* find(void* plugin, const char* name) {
  void* found = dlsym(plugin, name);
  require(found != nullptr, "[two_copies] the plugin has no ", name);
  return reinterpret_cast<F*>(found);
}

double own_sum(double value) {
  init();
  std::vector<double> values{value};
  allreduce_values(world(), values);
  return values[0];
}

void run(const std::string& first) {
  void* plugin = dlopen(RONDE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  require(plugin != nullptr, "[two_copies] ", plugin ? "" : dlerror());
  auto* plugin_sum = find<double(double)>(plugin, "plugin_sum");
  require(find<const void*()>(plugin, "plugin_backend")() != &backend("cpu"),
          "[two_copies] there is one copy");
  if (first == "plugin") require(plugin_sum(1.0) == 2.0, "[two_copies] the plugin's first sum");
  require(own_sum(2.0) == 4.0, "[two_copies] the program's sum");
  require(plugin_sum(3.0) == 6.0, "[two_copies] the plugin's sum");
  try {
    find<void()>(plugin, "plugin_fail")();
    throw Error("[two_copies] no error");
  } catch (const InputError& error) {
    require(error.what() == std::string("thrown by the plugin"), "[two_copies] ", error.what());
  }
  // One ends before the other, and is closed.
  find<void()>(plugin, "plugin_end")();
  dlclose(plugin);
  require(own_sum(4.0) == 8.0, "[two_copies] the program's last sum");
  shutdown();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "program");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
