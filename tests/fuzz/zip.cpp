// Zip archives.
#include <ronde/data/zip.h>

#include "fuzz.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  decode_zip(bytes, "fuzz.zip", 64 << 20);
}

std::vector<std::string> seeds() {
  return {encode_zip({{"config.json", "{\"a\": 1}"}, {"folder/data.bin", std::string(300, 'x')}}),
          encode_zip({{"empty", ""}})};
}

}  // namespace ronde::fuzz
