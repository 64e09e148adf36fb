// `ronde predict FILE IMAGE...`
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include <ronde/core/error.h>
#include <ronde/models/model.h>

#include "ronde/answers.h"
#include "ronde/byte_scale.h"
#include "ronde/class_names.h"
#include "ronde/commands.h"
#include "ronde/file_content.h"
#include "ronde/pictures.h"
#include "ronde/source_data.h"

namespace ronde::apps {
namespace {

constexpr int kBar = 30;  // characters of 100 %
constexpr std::int64_t kTop = 5;

struct PredictOptions {
  std::string file;
  std::vector<std::string> images;
  std::string classes;
  std::optional<std::int64_t> top;
  std::optional<double> scale;
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

bool is_above(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a > b;
}

/// The outputs with the largest answers, the first one first.
std::vector<std::size_t> largest(const std::vector<double>& values, std::int64_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return is_above(values[a], values[b]); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

/// Probabilities by size; values in the net's order, unless a number of them was asked for.
std::vector<std::size_t> shown_outputs(const std::vector<double>& values, Meaning meaning,
                                       std::optional<std::int64_t> top) {
  if (top || meaning != Meaning::values) return largest(values, top.value_or(kTop));
  std::vector<std::size_t> all(values.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string shown(double value, Meaning meaning) {
  std::array<char, 64> text;
  if (meaning == Meaning::values || !std::isfinite(value)) {
    std::snprintf(text.data(), text.size(), "%12.6g", std::isnan(value) ? std::abs(value) : value);
    return text.data();
  }
  std::snprintf(text.data(), text.size(), "%6.2f %%", 100.0 * value);
  const std::string line = bar(value);
  return cat(text.data(), line.empty() ? "" : "  ", line);
}

const char* heading(Meaning meaning) {
  if (meaning == Meaning::classes) return "";
  return meaning == Meaning::independent ? ": independent probabilities" : ": values";
}

void print_answer(const std::string& image, const std::vector<double>& values, Meaning meaning,
                  const std::vector<std::string>& names, std::optional<std::int64_t> top) {
  const std::vector<std::size_t> order = shown_outputs(values, meaning, top);
  int width = 0;
  for (const std::size_t i : order) width = std::max(width, static_cast<int>(names[i].size()));
  std::printf("%s%s\n", image.c_str(), heading(meaning));
  for (const std::size_t i : order)
    std::printf("  %-*s  %s\n", width, names[i].c_str(), shown(values[i], meaning).c_str());
}

/// Once all answers are there to be seen.
void require_finite(const PredictOptions& options, const std::vector<double>& scores,
                    const std::vector<std::string>& names) {
  const auto wrong =
      std::find_if(scores.begin(), scores.end(), [](double score) { return !std::isfinite(score); });
  if (wrong == scores.end()) return;
  const auto at = static_cast<std::size_t>(wrong - scores.begin());
  throw Error(cat(options.file, ": says ", std::isnan(*wrong) ? std::abs(*wrong) : *wrong, " as ",
                  names[at % names.size()], " of ", options.images[at / names.size()],
                  ", which is no finite number: look at its weights, and at --scale"),
              ExitStatus::non_finite);
}

/// What a byte becomes before --offset.
double scale_of(const PredictOptions& options, const Module& net) {
  if (options.scale) return *options.scale;
  if (scales_bytes(net)) note_bytes_stay(options.file);
  return byte_scale_for(net);
}

void predict(const PredictOptions& options) {
  Model model = load_model(options.file);
  require_one_output(model.module(), options.file);
  const Shape& outputs = model.module().output_shape();
  require<UsageError>(outputs.rank() == 2, options.file, ": the net's outputs are ", outputs.tail(1),
                      ", not one list for each picture");
  const Reading reading = reading_of(model);
  const std::vector<std::string> names =
      class_names(options.classes, outputs.back(), reading.meaning == Meaning::classes ? "class" : "output");
  PictureOptions pictures = options.pictures;
  pictures.scale = scale_of(options, model.module());
  const std::vector<double> scores =
      model.predict(read_pictures(options.images, model.module().input_shape(), pictures))
          .to_vector<double>();
  for (std::size_t i = 0; i < options.images.size(); ++i)
    print_answer(options.images[i], answers(reading, {scores.data() + i * names.size(), names.size()}),
                 reading.meaning, names, options.top);
  require_finite(options, scores, names);
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
          "Probabilities of the classes; of a net that ends in a sigmoid, each output's own probability; of\n"
          "any other net without a categorical loss, as of a regression, its outputs as they are. Outputs\n"
          "that are no finite numbers are shown, and end it with status 88.\n\n"
          "Pictures become grey or coloured as the net needs them. Their bytes are scaled to 0 ... 1, as\n"
          "Ronde's data sets do, unless the net begins with a Rescaling or Normalization of bytes; for dark\n"
          "digits on white: --scale -1/255 --offset 1.\n\n"
          "  ronde predict model.h5 --classes cifar10 --resize cat.jpg dog.png",
      .arguments = {argument("FILE", "model file", text(options->file)),
                    arguments("IMAGE", "pictures", append(options->images)),
                    option("--classes", "NAMES",
                           "mnist|fashion-mnist|cifar10, names as a,b,c, or a file of lines",
                           text(options->classes)),
                    option("--top", "N", "answers for each picture, the largest (default 5; of values, all)",
                           whole_number(options->top, 1)),
                    flag("--resize", "bring pictures to the net's size", pictures.resize),
                    option("--scale", "X",
                           "the net sees byte * X + offset (default 1/255, unless it scales bytes)",
                           fraction(options->scale)),
                    option("--offset", "X", "see --scale (default 0)", fraction(pictures.offset))},
      .run = [options](Communicator& world) { on_main(world, [&] { predict(*options); }); }};
}

}  // namespace ronde::apps
