#include <cstddef>
#include <cstdio>
// libjpeg's headers need the two above, and the second the first: without it, its numbers are those of
// another version.
#include <jpeglib.h>

#include <jerror.h>

#include <array>
#include <string>
#include <vector>

#include "images/codecs.h"
#include "images/error_exit.h"

namespace ronde::inline v0 {
namespace {

constexpr int kMaxScans = 500;  // real files have about ten; each costs a pass over the picture

/// Owns libjpeg's state.
struct JpegDecoder {
  JpegDecoder();
  ~JpegDecoder() { jpeg_destroy_decompress(&jpeg); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  ErrorExit exit;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};
};

JpegDecoder& decoder_of(j_common_ptr jpeg) {
  return *static_cast<JpegDecoder*>(jpeg->client_data);
}

void leave(j_common_ptr jpeg) {
  std::array<char, JMSG_LENGTH_MAX> text{};
  jpeg->err->format_message(jpeg, text.data());
  decoder_of(jpeg).exit.leave(text.data());
}

/// What libjpeg would patch over in silence. Its other warnings are about oddities without loss.
bool is_damage(int warning) {
  for (const int code :
       {JWRN_JPEG_EOF, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_MUST_RESYNC, JWRN_BOGUS_PROGRESSION})
    if (warning == code) return true;
  return false;
}

void note(j_common_ptr jpeg, int level) {
  if (level < 0 && is_damage(jpeg->err->msg_code)) leave(jpeg);
}

void limit_scans(j_common_ptr jpeg) {
  JpegDecoder& decoder = decoder_of(jpeg);
  if (decoder.jpeg.input_scan_number > kMaxScans) decoder.exit.leave("too many scans");
}

JpegDecoder::JpegDecoder() {
  jpeg.err = jpeg_std_error(&errors);
  jpeg.client_data = this;
  errors.error_exit = leave;
  errors.emit_message = note;
  progress.progress_monitor = limit_scans;
}

/// Printers' inks on white; Adobe stores their complement.
void to_rgb(const unsigned char* inks, std::int64_t width, bool complement, std::uint8_t* to) {
  const int flip = complement ? 0 : 255;
  for (std::int64_t x = 0; x < width; ++x, inks += 4)
    for (int c = 0; c < 3; ++c)
      *to++ = static_cast<std::uint8_t>(((inks[c] ^ flip) * (inks[3] ^ flip) + 127) / 255);
}

/// Returns the number of channels of the picture.
int read_header(JpegDecoder& decoder, std::string_view bytes) {
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &decoder.progress;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&jpeg, TRUE);
  const bool inks = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  const bool grey = jpeg.jpeg_color_space == JCS_GRAYSCALE;
  jpeg.out_color_space = inks ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  return grey ? 1 : 3;
}

}  // namespace

bool is_jpeg(std::string_view bytes) {
  return bytes.starts_with("\xff\xd8\xff");
}

Tensor decode_jpeg(std::string_view bytes, const std::string& source) {
  JpegDecoder decoder;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  const auto run = [&](const auto& calls) {
    if (!survives(decoder.exit, calls))
      fail_image(source, cat("damaged JPEG: ", decoder.exit.message.data()));
  };
  int channels = 0;
  run([&] { channels = read_header(decoder, bytes); });

  const std::int64_t width = jpeg.image_width;
  const Tensor image = allocate_image(source, jpeg.image_height, width, channels);
  auto* to = image.data<std::uint8_t>();
  const bool inks = jpeg.out_color_space == JCS_CMYK;
  std::vector<unsigned char> row(inks ? static_cast<std::size_t>(4 * width) : 0);
  run([&] {
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      unsigned char* line = inks ? row.data() : to;
      jpeg_read_scanlines(&jpeg, &line, 1);
      if (inks) to_rgb(row.data(), width, jpeg.saw_Adobe_marker, to);
      to += width * channels;
    }
    jpeg_finish_decompress(&jpeg);
  });
  return image;
}

}  // namespace ronde::inline v0
