/// Writing and reading the configs of layers, with Keras' keys.
///
/// Written are the keys that every Keras from 2.10 to 3.15 knows, and no others: an unknown key makes a Keras
/// refuse the file. Only those that a file had itself go back into one, so that the Keras that knows them
/// opens the same net. Reading makes nothing of unknown keys, and remembers them; a known one with a value
/// that would change the result is an InputError that names layer, key and value.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ronde/core/kernel_params.h>
#include <ronde/core/ops.h>
#include <ronde/nn/activation.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// name, trainable, dtype, and what was left out: what every layer's config starts with.
ConfigDict layer_config(const Module& layer);
/// What was left out when this layer or net was read.
void append_left_out(const Module& layer, ConfigDict& config);
/// The InputLayer of a net, {"class_name", "config"}; with the shape, without the batch, once the net is
/// built, nullptr before. Without it Keras 3 would build an input with an axis too many. `batch_input_shape`
/// is the key that both Kerases know.
ConfigDict input_layer(const std::string& name, const Shape* shape);
ConfigList pair(Size2d size);
/// [[above, below], [left, right]]
ConfigList margins_list(Margins2d margins);
std::string to_string(Padding padding);
/// Without one the key is left out: files of nets without regularizers are as they were.
void append_regularizer(const char* key, const Regularizer& regularizer, ConfigDict& config);
/// A number alone for one, a list for several; null for none.
ConfigValue to_config(const std::vector<double>& numbers);

/// Keras 2 allows '/' in the names of layers; here, as in Keras 3, it stands between names: '_' in its place.
std::string without_slashes(std::string name);

/// The config of one layer, being read.
class LayerConfig {
 public:
  LayerConfig(std::string class_name, const ConfigValue& config);

  std::int64_t integer(const char* key) const;
  std::int64_t integer(const char* key, std::int64_t otherwise) const;
  /// A list of integers, or one alone.
  std::vector<std::int64_t> integers(const char* key) const;
  /// The same where there may be so many; else there is a batch, too.
  Shape shape(const char* key, std::size_t most = Shape::kMaxRank - 1) const;
  double number(const char* key) const;
  double number(const char* key, double otherwise) const;
  /// A list of numbers, or one alone; none where it is missing.
  std::vector<double> numbers(const char* key) const;
  bool boolean(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  /// Of one axis: 3 or [3].
  std::int64_t extent(const char* key, std::int64_t otherwise) const;
  std::optional<std::int64_t> extent(const char* key) const;
  Size2d size(const char* key, Size2d otherwise) const;
  std::optional<Size2d> size(const char* key) const;
  /// 1, [2, 3] (rows, columns) or [[1, 2], [3, 4]] (above, below; left, right)
  Margins2d margins(const char* key, Margins2d otherwise) const;
  Padding padding() const;
  /// `axis`, alone or in a list, as Keras 2 writes that of a layer that was built; -1 where it is missing.
  std::int64_t axis() const;
  /// linear for null, `otherwise` where it is missing.
  Activation::Kind activation(const char* key = "activation",
                              Activation::Kind otherwise = Activation::linear) const;
  /// `otherwise` for one that is not known here, too: weights that come from a file do not depend on it.
  Initializer initializer(const char* key, Initializer otherwise) const;
  /// None for one that is not known here: its key stays unread, so that it is kept and named as left out.
  Regularizer regularizer(const char* key) const;
  /// The entry, or nullptr when it is absent or null.
  const ConfigValue* find(const char* key) const;
  /// Whether there is one that says null.
  bool is_null(const char* key) const;
  /// The entries that other layers have not, null or not; all count as asked for.
  ConfigDict own_options() const;
  const std::string& class_name() const { return class_name_; }
  /// Entries that change nothing here, whatever they say.
  void ignore(std::initializer_list<const char*> keys) const;
  /// Entries that are not null and that nobody has asked for, as the file has them.
  ConfigDict unread() const;

  /// Errors unless the entry is absent, null or this value.
  void expect_null(const char* key) const;
  /// Keras 3's low-rank adapters, and quantized weights.
  void expect_no_adapters() const;
  void expect_text(const char* key, const char* value) const;
  void expect_false(const char* key) const;
  [[noreturn]] void refuse(const char* key, const std::string& why) const;

 private:
  template <class F>
  auto read(const char* key, F&& convert) const;

  const ConfigValue* config_;
  std::string class_name_;
  std::string label_;
  mutable std::set<std::string> asked_;
};

/// A layer of this class from its config; defined next to each layer's `config()`.
template <class Layer>
std::unique_ptr<Module> read_layer(const LayerConfig& config);

}  // namespace ronde::inline v0
