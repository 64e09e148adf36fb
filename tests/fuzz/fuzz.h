/// What a fuzz target is: a parser, and files that it accepts.
///
/// `fuzz_one` gives a parser bytes from anywhere. It may return or throw ronde::Error; any other exception, a
/// crash, a sanitizer's finding, and memory or time out of proportion to the bytes are defects.
///
/// The same source is linked to one of two drivers: libFuzzer, where clang has it, for long runs; and
/// `mutator.cpp`, which any compiler builds, for the tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ronde::fuzz {

/// Lets the target's parser read `bytes`.
void fuzz_one(std::string_view bytes);

/// Small valid files, from which mutations start.
std::vector<std::string> seeds();

/// The bytes as a file in memory, for parsers that take a path. Its directory is a link of the system, so
/// nothing can be written beside it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace ronde::fuzz
