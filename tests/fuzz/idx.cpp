// IDX files, plain and gzipped: MNIST's.
#include <ronde/data/idx.h>

#include "fuzz.h"
#include "support/make_idx.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const MemoryFile file(bytes);
  read_idx(file.path(), 64 << 20);
}

std::vector<std::string> seeds() {
  using namespace test;
  const Bytes images = idx({3, 4, 5}, Bytes(60, '\x7f')), labels = idx({4}, digit_labels(4));
  return {images, labels, gzip(images), gzip(labels), idx({2, 2}, Bytes(16, '\x40'), '\x0d')};
}

}  // namespace ronde::fuzz
