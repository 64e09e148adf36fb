#include <png.h>

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <ronde/core/error.h>

#include "images/codecs.h"
#include "images/error_exit.h"

// libpng's low-level interface: the simplified one would correct for gamma, which no training framework does.

namespace ronde::inline v0 {
namespace {

struct Source {
  const unsigned char* next;
  std::size_t left;
};

void read_bytes(png_structp png, png_bytep out, std::size_t bytes) {
  auto& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (bytes > source.left) png_error(png, "truncated");
  std::memcpy(out, source.next, bytes);
  source.next += bytes;
  source.left -= bytes;
}

void leave(png_structp png, png_const_charp message) {
  static_cast<ErrorExit*>(png_get_error_ptr(png))->leave(message);
}

/// Owns libpng's state.
struct PngDecoder {
  PngDecoder()
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &exit, leave,
                                   [](png_structp, png_const_charp) {})) {
    if (!png) throw std::bad_alloc();
    info = png_create_info_struct(png);
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ErrorExit exit;
  png_structp png;
  png_infop info = nullptr;
};

/// Makes every kind of PNG grey or RGB of 8 bits, with or without alpha.
void read_header(PngDecoder& decoder, Source& source) {
  png_structp png = decoder.png;
  png_set_read_fn(png, &source, read_bytes);
  png_set_user_limits(png, kMaxImageSide, kMaxImageSide);
  png_set_chunk_malloc_max(png, 8 << 20);
  png_read_info(png, decoder.info);
  png_set_expand(png);  // palettes to RGB, 1 to 4 bits to 8, transparent colours to alpha
  png_set_scale_16(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
}

/// Rows of colour and alpha become colour on black; rounds to nearest.
void put_on_black(const unsigned char* from, const Tensor& image) {
  const std::int64_t channels = image.size(2), pixels = image.size(0) * image.size(1);
  auto* to = image.data<std::uint8_t>();
  for (std::int64_t i = 0; i < pixels; ++i, from += channels + 1)
    for (std::int64_t c = 0; c < channels; ++c)
      *to++ = static_cast<std::uint8_t>((from[c] * from[channels] + 127) / 255);
}

}  // namespace

bool is_png(std::string_view bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n");
}

Tensor decode_png(std::string_view bytes, const std::string& source) {
  PngDecoder decoder;
  Source input{reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
  const auto run = [&](const auto& calls) {
    if (!survives(decoder.exit, calls)) fail_image(source, cat("damaged PNG: ", decoder.exit.message.data()));
  };
  run([&] { read_header(decoder, input); });

  const std::int64_t height = png_get_image_height(decoder.png, decoder.info);
  const std::int64_t width = png_get_image_width(decoder.png, decoder.info);
  const std::int64_t planes = png_get_channels(decoder.png, decoder.info);
  const bool alpha = planes % 2 == 0;
  const Tensor image = allocate_image(source, height, width, planes - alpha);
  // Not touched before libpng fills it: a file that claims too much costs nothing.
  const auto with_alpha = std::make_unique_for_overwrite<unsigned char[]>(
      alpha ? static_cast<std::size_t>(height * width * planes) : 0);
  unsigned char* first = alpha ? with_alpha.get() : image.data<std::uint8_t>();
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < height; ++y) rows.push_back(first + y * width * planes);
  run([&] {
    png_read_image(decoder.png, rows.data());
    png_read_end(decoder.png, nullptr);
  });
  if (alpha) put_on_black(with_alpha.get(), image);
  return image;
}

}  // namespace ronde::inline v0
