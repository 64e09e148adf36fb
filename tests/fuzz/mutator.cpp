// A driver without libFuzzer: mutates the seeds, in an order that depends on --seed alone.
//
//     fuzz_idx --runs 20000 [--seed 7]     mutations of the seeds
//     fuzz_idx FILE...                     these files, once each
//
// The input that ends the process is left in ./fuzz-failure.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <ronde/core/error.h>

#include "fuzz.h"

namespace {

using Random = std::mt19937_64;

constexpr double kSlowSeconds = 5.0;  // for one input of a few kilobytes, even with sanitizers and neighbours

std::size_t below(Random& random, std::size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

/// A number in one to eight bytes of either order, near a power of two: what overflows sizes and offsets.
std::string edge_number(Random& random) {
  const std::uint64_t near = (std::uint64_t{1} << below(random, 64)) + below(random, 3) - 1;
  std::string bytes(std::size_t{1} << below(random, 4), '\0');
  const bool big_endian = random() % 2 == 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[big_endian ? bytes.size() - 1 - i : i] = static_cast<char>(near >> (8 * i));
  return bytes;
}

void mutate_once(std::string& bytes, const std::string& other, Random& random) {
  const std::size_t at = below(random, bytes.size() + 1), length = 1 + below(random, 32);
  switch (random() % 8) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, length);
      break;
    case 4:
      bytes.insert(at, bytes.substr(below(random, bytes.size()), length));
      break;
    case 5:
      bytes.insert(at, length, static_cast<char>(random()));
      break;
    case 6: {
      const std::string number = edge_number(random);
      bytes.replace(std::min(at, bytes.size()), number.size(), number);
      break;
    }
    default:
      bytes = bytes.substr(0, at) + other.substr(below(random, other.size()));
  }
}

/// The present input, for who keeps it when the process ends in the middle of it.
std::string& present() {
  static std::string input;
  return input;
}

void keep_input() {
  const int file = ::open("fuzz-failure", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, present().data(), present().size());
  ::close(file);
}

/// Returns false, having said why, when the input is a defect that no sanitizer sees.
bool run(std::string bytes) {
  present() = std::move(bytes);
  const auto begin = std::chrono::steady_clock::now();
  try {
    ronde::fuzz::fuzz_one(present());
  } catch (const ronde::Error&) {
    // Refused, as it may be.
  } catch (const std::exception& error) {
    std::fprintf(stderr, "an exception that is no ronde::Error: %s\n", error.what());
    return false;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (seconds > kSlowSeconds) std::fprintf(stderr, "one input took %.1f s\n", seconds);
  return seconds <= kSlowSeconds;
}

int run_files(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!run({std::istreambuf_iterator<char>(file), {}})) return 1;
  }
  return 0;
}

int run_mutations(long runs, std::uint64_t seed) {
  const std::vector<std::string> seeds = ronde::fuzz::seeds();
  for (const std::string& valid : seeds) {
    present() = valid;
    ronde::fuzz::fuzz_one(valid);  // a seed that is refused would test little
  }
  Random random(seed);
  for (long i = 0; i < runs; ++i) {
    std::string bytes = seeds[below(random, seeds.size())];
    const std::string& other = seeds[below(random, seeds.size())];
    for (std::size_t n = 1 + below(random, 6); n > 0; --n) mutate_once(bytes, other, random);
    if (run(std::move(bytes))) continue;
    keep_input();
    std::fprintf(stderr, "run %ld of seed %llu; the input is in ./fuzz-failure\n", i,
                 static_cast<unsigned long long>(seed));
    return 1;
  }
  std::printf("%ld mutations of %zu seeds\n", runs, seeds.size());
  return 0;
}

}  // namespace

// Called by the sanitizers before they end the process.
extern "C" void __asan_on_error() {
  keep_input();
}

int main(int count, char** arguments) {
  long runs = 0, seed = 1;
  int i = 1;
  for (; i + 1 < count && std::strncmp(arguments[i], "--", 2) == 0; i += 2) {
    long& value = std::strcmp(arguments[i], "--runs") == 0 ? runs : seed;
    value = std::atol(arguments[i + 1]);
  }
  return runs > 0 ? run_mutations(runs, static_cast<std::uint64_t>(seed))
                  : run_files(count - i, arguments + i);
}
