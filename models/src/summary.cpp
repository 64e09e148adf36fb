#include <array>

#include <ronde/models/model.h>

#include "state/model_state.h"

namespace ronde::inline v0 {

namespace {

/// Where Keras 2's columns end.
constexpr std::size_t kColumns[] = {29, 55, 65};
constexpr std::size_t kLineLength = 65;

using Row = std::array<std::string, 3>;

/// A cell too long for its column goes on in the next line; two characters stay free between columns.
std::string format_row(Row row) {
  std::string text;
  for (bool first = true; first || !(row[0] + row[1] + row[2]).empty(); first = false) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t begin = i == 0 ? 0 : kColumns[i - 1];
      line.resize(begin, ' ');
      if (i == 0) line += ' ';
      const std::size_t room = kColumns[i] - line.size() - (i + 1 < row.size() ? 2 : 0);
      line += row[i].substr(0, room);
      row[i].erase(0, room);
    }
    line.resize(kLineLength, ' ');
    text += line + "\n";
  }
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
