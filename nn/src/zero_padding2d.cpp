#include <ronde/nn/zero_padding2d.h>

#include "image_checks.h"
#include "layer_config.h"

namespace ronde::inline v0 {

namespace {

struct Pair {
  std::int64_t before, after;
};

/// 2 or [1, 2]
Pair read_pair(const ConfigValue& value) {
  if (!value.is_list()) return {value.as_int(), value.as_int()};
  require<InputError>(value.as_list().size() == 2, "expected two entries, found ", value.as_list().size());
  return {value.as_list()[0].as_int(), value.as_list()[1].as_int()};
}

/// 1, [2, 3] (rows, columns) or [[1, 2], [3, 4]] (above, below; left, right)
ZeroPadding2DOptions read_padding(const ConfigValue& value) {
  if (!value.is_list()) {
    const Pair all = read_pair(value);
    return {all.before, all.after, all.before, all.after, {}};
  }
  require<InputError>(value.as_list().size() == 2, "expected two entries, found ", value.as_list().size());
  const Pair rows = read_pair(value.as_list()[0]), columns = read_pair(value.as_list()[1]);
  return {rows.before, rows.after, columns.before, columns.after, {}};
}

}  // namespace

ZeroPadding2D::ZeroPadding2D(ZeroPadding2DOptions options) : options_(std::move(options)) {
  if (!options_.name.empty()) set_name(options_.name);
  for (const std::int64_t side : {options_.top, options_.bottom, options_.left, options_.right})
    require<UsageError>(side >= 0, "[", label(), "] padding must not be negative, got ", side);
}

Variable ZeroPadding2D::forward(const Variable& x, const Context&) {
  require_images(*this, x.shape());
  return zero_pad2d(x, {options_.top, options_.bottom, options_.left, options_.right});
}

ConfigDict ZeroPadding2D::config() const {
  ConfigDict config = layer_config(*this);
  config.emplace_back("padding", ConfigList{ConfigList{options_.top, options_.bottom},
                                            ConfigList{options_.left, options_.right}});
  config.emplace_back("data_format", "channels_last");
  return config;
}

template <>
std::unique_ptr<Module> read_layer<ZeroPadding2D>(const LayerConfig& config) {
  config.expect_text("data_format", "channels_last");
  const ConfigValue* padding = config.find("padding");
  try {
    return std::make_unique<ZeroPadding2D>(padding ? read_padding(*padding) : ZeroPadding2DOptions{});
  } catch (const InputError& error) {
    config.refuse("padding", error.what());
  }
}

}  // namespace ronde::inline v0
