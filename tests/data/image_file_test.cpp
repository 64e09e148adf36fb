#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include <ronde/core/error.h>
#include <ronde/data/image_file.h>
#include <ronde/data/npz.h>

#include "data/testing.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

/// Files and what Pillow makes of them.
const std::map<std::string, Tensor>& pictures() {
  static const auto arrays = read_npz(std::string(RONDE_TEST_DATA) + "/pictures_pillow.npz");
  return arrays;
}

Bytes file(const std::string& name) {
  const Tensor& bytes = pictures().at(name);
  return {static_cast<const char*>(bytes.raw()), bytes.byte_size()};
}

Tensor decode(const std::string& name, ImageChannels channels = ImageChannels::as_stored) {
  return decode_image(file(name), name, channels);
}

/// Of the same shape, and no byte further away than `tolerance`.
void expect_near(const Tensor& actual, const Tensor& expected, int tolerance, const std::string& what) {
  ASSERT_EQ(actual.dtype(), DType::u8) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const auto a = actual.to_vector<int>(), b = expected.to_vector<int>();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance) << what << ": element " << i;
}

TEST(DecodeImage, ReadsEveryKindOfPng) {
  for (const char* name : {"rgb.png", "grey.png", "palette.png", "one_bit.png", "interlaced.png", "gamma.png",
                           "rgb16.png", "grey16.png"})
    expect_near(decode(name), pictures().at(std::string(name) + ".pixels"), 0, name);
}

TEST(DecodeImage, PutsTransparencyOnBlack) {
  for (const char* name : {"rgba.png", "grey_alpha.png"})
    expect_near(decode(name), pictures().at(std::string(name) + ".pixels"), 0, name);
}

// Versions of libjpeg round differently.
TEST(DecodeImage, ReadsEveryKindOfJpeg) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "grey.jpg", "inks.jpg"})
    expect_near(decode(name), pictures().at(std::string(name) + ".pixels"), 2, name);
}

TEST(DecodeImage, MakesTheChannelsThatAreAskedFor) {
  EXPECT_EQ(decode("rgb.png", ImageChannels::rgb).shape(), (Shape{9, 13, 3}));
  expect_near(decode("rgb.png", ImageChannels::grey), pictures().at("to_grey"), 0, "grey of rgb");
  const Tensor rgb = decode("grey.png", ImageChannels::rgb), grey = decode("grey.png");
  ASSERT_EQ(rgb.shape(), (Shape{9, 13, 3}));
  for (int c = 0; c < 3; ++c) expect_near(rgb.slice(2, c, c + 1), grey, 0, "rgb of grey");
}

TEST(DecodeImage, RefusesWhatIsNoPicture) {
  expect_error<InputError>([] { decode_image("", "x.png"); }, {"data: x.png: empty"});
  expect_error<InputError>([] { decode_image("GIF89a", "x.gif"); },
                           {"data: x.gif: neither a PNG nor a JPEG file"});
}

// Cut off anywhere, a picture is an error and never a half picture. A JPEG may do without its end marker's
// bytes.
TEST(DecodeImage, RefusesTruncatedPictures) {
  for (const char* name : {"rgb.png", "interlaced.png", "rgb.jpg", "progressive.jpg", "inks.jpg"}) {
    const Bytes whole = file(name);
    for (std::size_t size = 8; size + 2 < whole.size(); size += 7)
      EXPECT_THROW(decode_image(whole.substr(0, size), name), InputError) << name << " cut to " << size;
  }
  expect_error<InputError>([] { decode_image(file("rgb.png").substr(0, 200), "a.png"); },
                           {"data: a.png: damaged PNG: truncated"});
  expect_error<InputError>(
      [] { decode_image(file("rgb.jpg").substr(0, file("rgb.jpg").size() - 40), "a.jpg"); },
      {"data: a.jpg: damaged JPEG: "});
}

TEST(DecodeImage, SurvivesHostileBytes) {
  std::uint32_t noise = 1;
  const auto next = [&] { return (noise = noise * 1664525u + 1013904223u) >> 8; };
  for (const char* name : {"rgba.png", "palette.png", "rgb.jpg", "progressive.jpg", "inks.jpg"}) {
    for (int round = 0; round < 150; ++round) {
      Bytes bytes = file(name);
      for (int k = 0; k <= round % 4; ++k) bytes[8 + next() % (bytes.size() - 8)] = static_cast<char>(next());
      try {
        const Tensor image = decode_image(bytes, name);
        EXPECT_EQ(image.dtype(), DType::u8);
      } catch (const InputError&) {
      }
    }
  }
}

TEST(DecodeImage, TakesNoMemoryForClaims) {
  Bytes png = file("rgb.png");
  const auto claim = [&](std::uint32_t width, std::uint32_t height) {
    png.replace(16, 8, big_endian(width) + big_endian(height));
    const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);
    png.replace(29, 4, big_endian(static_cast<std::uint32_t>(crc)));
    return png;
  };
  expect_error<InputError>([&] { decode_image(claim(60'000, 60'000), "x.png"); },
                           {"data: x.png: a picture of 60000 x 60000, expected at most 134,217,728 pixels"});
  EXPECT_THROW(decode_image(claim(0x7fffffff, 1), "x.png"), InputError);
  EXPECT_THROW(decode_image(claim(8'000, 8'000), "x.png"), InputError);
}

TEST(ReadImage, NamesTheFile) {
  const TempDir dir;
  write_bytes(dir / "a.png", file("rgb.png"));
  EXPECT_EQ(read_image(dir / "a.png").shape(), (Shape{9, 13, 3}));
  expect_error<IoError>([&] { read_image(dir / "none.png"); },
                        {"data: " + dir / "none.png" + ": No such file"});
  write_bytes(dir / "bad.png", "text");
  expect_error<InputError>([&] { read_image(dir / "bad.png"); }, {"data: " + dir / "bad.png" + ": neither"});
}

TEST(EncodePng, IsReadBackExactly) {
  for (const char* name : {"rgb.png", "grey.png", "rgb.jpg"}) {
    const Tensor image = decode(name);
    expect_near(decode_image(encode_png(image), name), image, 0, name);
  }
  const Tensor strided = decode("rgb.png").slice(1, 2, 7);
  expect_near(decode_image(encode_png(strided), "strided"), strided, 0, "strided");
  EXPECT_THROW(encode_png(host<float>({1, 1, 3}, {0, 0, 0})), Error);
  EXPECT_THROW(encode_png(host<std::uint8_t>({1, 2}, {0, 0})), Error);
  EXPECT_THROW(encode_png(Tensor()), Error);
}

TEST(ResizeImage, GivesPillowsBytes) {
  const Tensor image = decode("resize");
  for (const auto& [height, width] : {std::pair{5, 7}, {23, 31}, {11, 40}, {3, 17}, {1, 1}, {64, 64}}) {
    const std::string name = "resize." + std::to_string(height) + "x" + std::to_string(width);
    expect_near(resize_image(image, height, width), pictures().at(name), 0, name);
  }
  expect_near(resize_image(decode("grey.png"), 4, 5), pictures().at("resize_grey.4x5"), 0, "grey");
  expect_near(resize_image(image, 11, 17), image, 0, "the same size");
  EXPECT_THROW(resize_image(image, 0, 5), UsageError);
}

}  // namespace
}  // namespace ronde
