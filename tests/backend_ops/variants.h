/// The CPU's fast backend with kernels that it would not choose here: those of other instruction sets of the
/// machine, convolutions without Winograd's algorithm, and products by tiles of bf16 as few processors have
/// them, by a model that computes what the instructions would.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ronde/core/backend.h>

namespace ronde::test {

struct Variant {
  std::string name;
  std::unique_ptr<Backend> backend;
  /// Suites of tests begin so that see another kernel than in the instruction set's variant; none: all do.
  std::vector<std::string_view> suites = {};
  bool is_between = false;  ///< an instruction set that is neither the machine's least nor its best

  bool is_for(std::string_view suite) const;
};

/// None in a build without oneDNN.
std::vector<Variant> make_variants();

}  // namespace ronde::test
