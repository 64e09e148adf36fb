#include <ronde/distributed/allreduce_path.h>

#include <array>
#include <cstdlib>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

constexpr std::array kPaths{AllreducePath::automatic, AllreducePath::mpi, AllreducePath::node,
                            AllreducePath::hierarchical};

}  // namespace

std::string to_string(AllreducePath path) {
  switch (path) {
    case AllreducePath::mpi:
      return "mpi";
    case AllreducePath::node:
      return "node";
    case AllreducePath::hierarchical:
      return "hierarchical";
    case AllreducePath::automatic:
      break;
  }
  return "auto";
}

AllreducePath allreduce_path_from_environment() {
  const char* text = std::getenv("RONDE_ALLREDUCE");
  if (!text || !*text) return AllreducePath::automatic;
  for (const AllreducePath path : kPaths) {
    if (text == to_string(path)) return path;
  }
  throw UsageError(cat("RONDE_ALLREDUCE expects auto, mpi, node or hierarchical, got ", text));
}

}  // namespace ronde::inline v0
