#include <algorithm>
#include <array>
#include <string_view>

#include <ronde/core/utf8.h>
#include <ronde/models/model.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

namespace {

constexpr std::size_t kLineLength = 65;
/// Where Keras 2's columns end.
constexpr std::size_t kColumns[] = {29, 55, kLineLength};

using Row = std::array<std::string, 3>;

/// The character at the front, which is cut off; a byte that is none counts as one.
std::string_view next_character(std::string_view& text) {
  const std::string_view character = text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
  text.remove_prefix(character.size());
  return character;
}

/// A cell too long for its column goes on in the next line; two characters stay free between columns.
std::string format_row(const Row& row) {
  std::string text;
  std::array<std::string_view, 3> rest{row[0], row[1], row[2]};
  const auto is_done = [&] { return rest[0].empty() && rest[1].empty() && rest[2].empty(); };
  do {
    text += ' ';
    std::size_t width = 1;  // of the line, in characters
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const std::size_t end = kColumns[i] - (i + 1 < rest.size() ? 2 : 0);
      for (; width < end && !rest[i].empty(); ++width) text += next_character(rest[i]);
      text.append(kColumns[i] - width, ' ');
      width = kColumns[i];
    }
    text += '\n';
  } while (!is_done());
  return text;
}

std::string with_open_batch(const Shape& shape) {
  std::string text = "(None";
  for (const std::int64_t extent : shape.tail(1)) text += cat(", ", extent);
  return text + ")";
}

/// "4.58 MB", of f32 values
std::string memory_text(std::int64_t count, DType dtype) {
  double size = static_cast<double>(count) * static_cast<double>(size_of(dtype));
  static constexpr const char* kUnits[] = {"Byte", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; size >= 1024 && unit < 4; ++unit) size /= 1024;
  return cat(formatted("%.2f ", size), kUnits[unit]);
}

}  // namespace

std::string Model::summary() const {
  const Module& net = *state_->module;
  std::string name = net.name();
  if (name.empty()) name = net.class_name() == "Sequential" ? "sequential" : "model";
  std::string text = cat("Model: \"", name, "\"\n", std::string(kLineLength, '_'), '\n');
  text += format_row({"Layer (type)", "Output Shape", "Param #"});
  text += cat(std::string(kLineLength, '='), '\n');
  for (const Module* layer : net.children()) {
    text += format_row({cat(layer->name(), " (", layer->class_name(), ")"),
                        with_open_batch(layer->output_shape()), std::to_string(layer->parameter_count())});
    text += cat(std::string(kLineLength, ' '), '\n');
  }
  text += cat(std::string(kLineLength, '='), '\n');

  const std::int64_t total = net.parameter_count();
  const std::int64_t trainable = net.parameter_count(true);
  const auto count_line = [&](const char* title, std::int64_t count) {
    return cat(title, " params: ", count, " (", memory_text(count, state_->options.dtype), ")\n");
  };
  text += count_line("Total", total) + count_line("Trainable", trainable);
  text += count_line("Non-trainable", total - trainable);
  return text + std::string(kLineLength, '_') + "\n";
}

}  // namespace ronde::inline v0
