// Packed data sets: header and blocks.
#include <cstdio>
#include <fstream>
#include <iterator>

#include <ronde/core/backend.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/packed_dataset.h>

#include "fuzz.h"
#include "support/temp_dir.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const MemoryFile file(bytes);
  PackedDataset(file.path()).verify();
}

std::vector<std::string> seeds() {
  const test::TempDir dir;
  const Tensor images = Tensor::full({3, 2, 2, 1}, 0.0, {.backend = &backend("cpu")});
  const Tensor labels = Tensor::from<std::int32_t>({3}, {0, 1, 0}, &backend("cpu"));
  std::vector<std::string> files;
  for (const DType dtype : {DType::u8, DType::f32}) {
    const std::string path = dir / "data.pack";
    pack_dataset(InMemoryDataset(images, labels), path, {.dtype = dtype, .block_bytes = 16});
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

}  // namespace ronde::fuzz
