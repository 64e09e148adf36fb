/// SHA-256 of bytes that come in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ronde::inline v0 {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(const void* data, std::size_t bytes);
  /// 64 hex digits. Ends the computation.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ronde::inline v0
