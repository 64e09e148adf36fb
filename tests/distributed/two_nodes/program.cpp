// What the rig starts on two nodes: sums the same tensor flat and in two levels, in turn.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/distributed/mpi_communicator.h>
#include <ronde/distributed/runtime.h>

namespace {

using namespace ronde;

constexpr std::int64_t kCount = 1'200'000;  // 4.8 MB
constexpr int kRepeats = 5;

// Bytes that this node has sent to others so far.
double bytes_sent() {
  std::ifstream file("/proc/net/dev");
  double sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.find("lo:") != std::string::npos) continue;
    double fields[9] = {};
    const char* at = line.c_str() + colon + 1;
    for (double& field : fields) {
      char* end = nullptr;
      field = std::strtod(at, &end);
      at = end;
    }
    sum += fields[8];
  }
  return sum;
}

struct Way {
  std::unique_ptr<Communicator> world;
  Tensor tensor;
  double seconds = 1e9;  // of the fastest call
  double bytes = 0;      // that left the node, all calls

  explicit Way(AllreducePath path)
      : world(make_mpi_communicator(path)),
        tensor(world->shared_tensor({kCount}, {.dtype = DType::f32, .backend = &backend("cpu")})) {}

  // Whether the sum is right.
  bool run() {
    float* data = tensor.data<float>();
    for (std::int64_t i = 0; i < kCount; ++i) data[i] = static_cast<float>(i % 1000 + world->rank());
    world->barrier().wait();
    const double before = bytes_sent();
    const auto start = std::chrono::steady_clock::now();
    world->allreduce(tensor).wait();
    seconds =
        std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    world->barrier().wait();
    bytes += bytes_sent() - before;
    const int n = world->size();
    for (std::int64_t i = 0; i < kCount; ++i)
      if (data[i] != static_cast<float>(n * (i % 1000) + n * (n - 1) / 2)) return false;
    return true;
  }

  void print() const {
    std::printf("%s: %.1f ms, %.1f MB leave a node\n", world->transport().c_str(), seconds * 1e3,
                bytes / kRepeats * 1e-6);
  }
};

void run(Communicator& world) {
  Way flat(AllreducePath::mpi), levels(AllreducePath::hierarchical);
  const auto chosen = make_mpi_communicator();
  collectively(world, [&] {
    require(world.cross_size() == 2, "[two_nodes] these are ", world.cross_size(), " nodes");
    bool ok = true;
    for (int k = 0; k < kRepeats; ++k) {
      ok = flat.run() && ok;
      ok = levels.run() && ok;
    }
    require(ok, "[two_nodes] wrong sums");
    // Between n nodes 2 (n - 1) / n of the tensor, and what TCP adds.
    const double least = 4.0 * kCount * kRepeats;
    require(levels.bytes < 1.3 * least, "[two_nodes] ", levels.bytes, " bytes left the node, expected about ",
            least);
  });
  if (world.rank() > 0) return;
  flat.print();
  levels.print();
  std::printf("flat / two levels: %.2f\nchosen at start-up: %s\n", flat.seconds / levels.seconds,
              chosen->transport().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, run);
}
