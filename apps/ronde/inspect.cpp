// `ronde inspect FILE`
#include <algorithm>
#include <cstdio>
#include <memory>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>

#include "common/banner.h"
#include "common/model_file.h"
#include "common/terminal_text.h"
#include "ronde/commands.h"
#include "ronde/file_content.h"

namespace ronde::apps {
namespace {

void print_tensors(const std::vector<NamedTensor>& tensors) {
  int names = 6, shapes = 5;
  std::int64_t elements = 0, bytes = 0;
  for (const auto& [name, values] : tensors) {
    names = std::max(names, static_cast<int>(name.size()));
    shapes = std::max(shapes, static_cast<int>(to_string(values.shape()).size()));
    elements += values.count();
    bytes += static_cast<std::int64_t>(values.byte_size());
  }
  std::printf("\n  %-*s  %-*s  dtype  %12s\n", names, "weight", shapes, "shape", "bytes");
  for (const auto& [name, values] : tensors)
    std::printf("  %-*s  %-*s  %-5s  %12s\n", names, name.c_str(), shapes, to_string(values.shape()).c_str(),
                to_string(values.dtype()).c_str(),
                grouped(static_cast<long long>(values.byte_size())).c_str());
  std::printf("  %s, %s, %s\n", to_string(counted(tensors.size(), "array")).c_str(),
              to_string(counted(elements, "value")).c_str(), to_string(counted(bytes, "byte")).c_str());
}

void say_at_once(const std::string& file, const char* what) {
  std::printf("%s: %s\n", file.c_str(), what);
  std::fflush(stdout);
}

/// What is wrong goes to stderr, as all errors do; that something is goes to stdout, for scripts.
void inspect(const std::string& name) {
  const std::string file = model_file(name);
  FileContent content;
  try {
    content = read_content(file);
  } catch (const NoModelFile&) {
    say_at_once(file, "no model file");
    throw;
  } catch (const InputError&) {
    say_at_once(file, "damaged");
    throw;
  }
  std::printf("%s", for_terminal(banner(file + ": good", content.lines)).c_str());
  if (!content.tensors.empty()) print_tensors(content.tensors);
}

}  // namespace

Command inspect_command() {
  const auto file = std::make_shared<std::string>();
  return {
      .name = "inspect",
      .help = "what a model file holds, and whether it is good or damaged",
      .details =
          "Reads models (.h5, .keras, .weights.h5), .safetensors, .npz and data sets of `ronde data pack`.\n"
          "Exit status 65 when the file is damaged, or none of these.",
      .arguments = {argument("FILE", "model file", text(*file))},
      .run = [file](Communicator& world) { on_main(world, [&] { inspect(*file); }); }};
}

}  // namespace ronde::apps
