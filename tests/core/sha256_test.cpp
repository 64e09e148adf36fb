#include <gtest/gtest.h>

#include <ronde/core/sha256.h>

namespace ronde {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesCountAsOne) {
  Sha256 hash;
  hash.update("a");
  hash.update(std::string_view());
  hash.update("bc", 2);
  EXPECT_EQ(hash.hex(), sha256_hex("abc"));
}

}  // namespace
}  // namespace ronde
