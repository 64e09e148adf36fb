/// SHA-256 of bytes that come in pieces: pins downloads, seals checkpoints, compares replicas' weights.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

class RONDE_API Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(const void* data, std::size_t bytes);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  /// 64 lower-case hex digits. Ends the computation.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of bytes that are all there.
RONDE_API std::string sha256_hex(std::string_view bytes);

}  // namespace ronde::inline v0
