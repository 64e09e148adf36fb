// The driver that libFuzzer calls. Run with an empty folder for its corpus, it starts from the seeds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <ronde/core/error.h>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ronde::fuzz::fuzz_one({reinterpret_cast<const char*>(data), size});
  } catch (const ronde::Error&) {
    // Refused, as it may be.
  }
  return 0;
}

// libFuzzer has read its options, but not yet the folder.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  for (int i = 1; i < *count; ++i) {
    const std::filesystem::path folder = (*arguments)[i];
    if (!std::filesystem::is_directory(folder)) continue;
    int number = 0;
    for (const std::string& seed : ronde::fuzz::seeds())
      std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
    break;
  }
  return 0;
}
