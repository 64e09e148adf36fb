// `ronde predict FILE IMAGE...`
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string_view>

#include <ronde/core/error.h>
#include <ronde/models/model.h>

#include "report/probabilities.h"
#include "ronde/class_names.h"
#include "ronde/commands.h"
#include "ronde/file_content.h"
#include "ronde/pictures.h"
#include "ronde/source_data.h"

namespace ronde::apps {
namespace {

constexpr int kBar = 30;  // characters of 100 %

struct PredictOptions {
  std::string file;
  std::vector<std::string> images;
  std::string classes;
  std::int64_t top = 5;
  PictureOptions pictures;
};

bool terminal_knows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::string bar(double share) {
  static const char* const block = terminal_knows_utf8() ? "\xe2\x96\x88" : "#";
  std::string text;
  for (int i = 0; i < static_cast<int>(std::lround(share * kBar)); ++i) text += block;
  return text;
}

void print_answer(const std::string& image, const std::vector<double>& shares,
                  const std::vector<std::string>& names, std::int64_t top) {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(top)));
  int width = 0;
  for (const std::size_t i : order) width = std::max(width, static_cast<int>(names[i].size()));
  std::printf("%s\n", image.c_str());
  for (const std::size_t i : order) {
    const std::string line = bar(shares[i]);
    std::printf("  %-*s  %6.2f %%%s%s\n", width, names[i].c_str(), 100.0 * shares[i],
                line.empty() ? "" : "  ", line.c_str());
  }
}

void predict(const PredictOptions& options) {
  Model model = load_model(options.file);
  const Shape& outputs = model.module().output_shape();
  require<UsageError>(outputs.rank() == 2 && outputs.back() >= 2, options.file, ": the net's outputs are ",
                      outputs.tail(1), ", not one for each class");
  const std::vector<std::string> names = class_names(options.classes, outputs.back());
  const Tensor pictures = read_pictures(options.images, model.module().input_shape(), options.pictures);
  const std::vector<double> scores = model.predict(pictures).to_vector<double>();
  for (std::size_t i = 0; i < options.images.size(); ++i)
    print_answer(options.images[i], probabilities({scores.data() + i * names.size(), names.size()}), names,
                 options.top);
}

Setter append(std::vector<std::string>& target) {
  return [&target](const std::string& value) -> std::string {
    if (value.empty()) return "give a file's name";
    target.push_back(value);
    return "";
  };
}

}  // namespace

Command predict_command() {
  const auto options = std::make_shared<PredictOptions>();
  PictureOptions& pictures = options->pictures;
  return {
      .name = "predict",
      .help = "say what pictures show: PNG, JPEG or raw bytes",
      .details =
          "Pictures become grey or coloured as the net needs them. Their bytes are scaled to 0 ... 1, as\n"
          "Ronde's data sets do; for dark digits on white: --scale -1/255 --offset 1.\n\n"
          "  ronde predict model.h5 --classes cifar10 --resize cat.jpg dog.png",
      .arguments =
          {argument("FILE", "model file", text(options->file)),
           arguments("IMAGE", "pictures", append(options->images)),
           option("--classes", "NAMES", "mnist|fashion-mnist|cifar10, names as a,b,c, or a file of lines",
                  text(options->classes)),
           option("--top", "N", "answers for each picture (default 5)", whole_number(options->top, 1)),
           flag("--resize", "bring pictures to the net's size", pictures.resize),
           option("--scale", "X", "the net sees byte * X + offset (default 1/255)", fraction(pictures.scale)),
           option("--offset", "X", "see --scale (default 0)", fraction(pictures.offset))},
      .run = [options](Communicator& world) { on_main(world, [&] { predict(*options); }); }};
}

}  // namespace ronde::apps
