// A plugin that has a copy of the library in itself.
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/distributed/runtime.h>
#include <ronde/distributed/values.h>

#define PLUGIN_API extern "C" __attribute__((visibility("default")))

PLUGIN_API const void* plugin_backend() {
  return &ronde::backend("cpu");
}

/// Of all ranks, in a world of the plugin's own.
PLUGIN_API double plugin_sum(double value) {
  ronde::init();
  std::vector<double> values{value};
  ronde::allreduce_values(ronde::world(), values);
  return values[0];
}

PLUGIN_API void plugin_fail() {
  throw ronde::InputError("thrown by the plugin");
}

PLUGIN_API void plugin_end() {
  ronde::shutdown();
}
