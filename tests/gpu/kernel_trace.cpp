// When each kernel, copy and fill of a program ran on its GPU, in CUDA graphs too: a library that the driver
// loads (CUDA_INJECTION64_PATH) and CUPTI tells. At the program's end it writes $KERNEL_TRACE: a line for
// each, of nanoseconds it began, nanoseconds it ended, graph and node (0: none), blocks of threads, bytes of
// a copy, and name. tests/gpu/kernel_times.py reads it.
#include <cupti.h>
#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Launch {
  std::uint64_t begin, end, graph, node;
  long long blocks, bytes;
  std::string name;
};

std::mutex mutex;
std::vector<Launch>& launches() {
  static auto* const all = new std::vector<Launch>;  // outlives the exit handlers
  return *all;
}

template <class Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

std::string readable(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result(status == 0 ? text : name);
  std::free(text);
  return result;
}

void note(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& of = as<CUpti_ActivityKernel10>(record);
      launches().push_back({of.start, of.end, of.graphId, of.graphNodeId,
                            static_cast<long long>(of.gridX) * of.gridY * of.gridZ, 0, readable(of.name)});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& of = as<CUpti_ActivityMemcpy6>(record);
      launches().push_back(
          {of.start, of.end, of.graphId, of.graphNodeId, 0, static_cast<long long>(of.bytes), "copy"});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& of = as<CUpti_ActivityMemset4>(record);
      launches().push_back(
          {of.start, of.end, of.graphId, of.graphNodeId, 0, static_cast<long long>(of.bytes), "fill"});
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = std::size_t{8} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::scoped_lock lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) note(record);
  std::free(buffer);
}

unsigned long long as_printed(std::uint64_t number) {
  return number;
}

void write() {
  cuptiActivityFlushAll(1);
  const std::scoped_lock lock(mutex);
  const char* path = std::getenv("KERNEL_TRACE");
  std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  for (const Launch& of : launches())
    std::fprintf(file, "%llu\t%llu\t%llu\t%llu\t%lld\t%lld\t%s\n", as_printed(of.begin), as_printed(of.end),
                 as_printed(of.graph), as_printed(of.node), of.blocks, of.bytes, of.name.c_str());
  std::fclose(file);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  cuptiActivityRegisterCallbacks(give, take);
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    cuptiActivityEnable(kind);
  std::atexit(write);
  return 1;
}
