/// Records of real Keras in tests/golden that are JSON.
#pragma once

#include <string>
#include <vector>

#include <ronde/core/backend.h>
#include <ronde/models/file_io.h>

#include "json/json.h"
#include "models/testing.h"

namespace ronde::test {

inline ConfigValue golden_record(const std::string& name) {
  return from_json(read_file(golden(name)));
}

/// Of a list, or of lists of lists one after the other.
inline std::vector<double> numbers(const ConfigValue& list) {
  std::vector<double> all;
  for (const ConfigValue& value : list.as_list()) {
    const std::vector<double> some =
        value.is_list() ? numbers(value) : std::vector<double>{value.as_double()};
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Of f64, on the oracle.
inline Tensor f64_tensor(const Shape& shape, const ConfigValue& list) {
  return Tensor::from<double>(shape, numbers(list), &backend("cpu"));
}

}  // namespace ronde::test
