// Tables of pixels and labels.
#include <ronde/data/csv.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const MemoryFile file(bytes);
  load_csv(file.path(), {.max_bytes = 64 << 20});
}

std::vector<std::string> seeds() {
  return {"label,pixel0,pixel1\n1,0,255\n0,12.5,3e2\n", "3,1,2\n4,5,6\n", "\"label\",\"a\"\r\n1,2\r\n"};
}

}  // namespace ronde::fuzz
