#include "ronde/source_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/data/csv.h>
#include <ronde/data/file_ending.h>
#include <ronde/data/image_folder.h>
#include <ronde/data/packed_dataset.h>

#include "common/cifar10_data.h"
#include "common/mnist_data.h"

namespace ronde::apps {
namespace {

namespace fs = std::filesystem;

std::optional<double> default_scale(const DataRequest& request) {
  return request.scale ? std::nullopt : std::optional(request.byte_scale);
}

/// Data that are bytes, scaled as the request says.
NamedData scaled_bytes(const InMemoryDataset& bytes, const DataRequest& request, std::string description) {
  InMemoryOptions options = bytes.options();
  options.scale = request.scale.value_or(request.byte_scale), options.offset = request.offset;
  return {.dataset = std::make_shared<InMemoryDataset>(bytes.inputs(), bytes.targets(), options),
          .description = std::move(description),
          .byte_scale = default_scale(request)};
}

NamedData known_set(const DataRequest& request) {
  const TrainingData data = request.name == "mnist"     ? mnist_source().load(request.directory)
                            : request.name == "cifar10" ? cifar10_source().load(request.directory)
                                                        : load_fashion_mnist(request.directory);
  const std::string description = cat(data.description, ", ", request.split, " part");
  const auto& part = request.split == "train" ? data.train : data.test;
  if (request.byte_scale == kByteScale) return {part, description};  // as it is
  return scaled_bytes(*part->in_memory(), request, description);
}

NamedData folder(const DataRequest& request) {
  ImageFolderOptions options{.scale = request.scale.value_or(request.byte_scale), .offset = request.offset};
  if (request.shape && request.shape->rank() == 3) {
    options.channels = (*request.shape)[2] == 1 ? ImageChannels::grey : ImageChannels::rgb;
    if (request.resize) options.height = (*request.shape)[0], options.width = (*request.shape)[1];
  }
  const auto images = std::make_shared<ImageFolder>(request.name, options);
  return {.dataset = images,
          .description = cat(counted(images->size(), "image"), " of ",
                             counted(images->class_names().size(), "class", "classes"), " in ", request.name),
          .can_resize = true,
          .byte_scale = default_scale(request)};
}

/// Bytes are pixels where samples are pictures; numbers of any other table count as they are.
NamedData table(const DataRequest& request) {
  CsvOptions options{
      .label_column = request.label_column, .scale = request.scale.value_or(1.0), .offset = request.offset};
  if (request.shape) options.image_shape = *request.shape;
  const auto rows = std::make_shared<InMemoryDataset>(load_csv(request.name, options));
  const std::string description = cat(counted(rows->size(), "row"), " of ", request.name);
  const bool pictures = rows->input_shape().rank() == 3 && rows->inputs().dtype() == DType::u8;
  return pictures ? scaled_bytes(*rows, request, description) : NamedData{rows, description};
}

NamedData packed(const DataRequest& request) {
  const auto data = std::make_shared<PackedDataset>(request.name);
  return {.dataset = data,
          .description = cat(counted(data->size(), "sample"), " of ", request.name),
          .byte_scale = data->stored_dtype() == DType::u8 ? std::optional(data->scale()) : std::nullopt};
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// What would be passed over in silence is refused.
void allow_only(const DataRequest& request, const char* kind,
                std::initializer_list<std::string_view> options) {
  for (const std::string& option : request.given)
    require<UsageError>(std::find(options.begin(), options.end(), option) != options.end(), option, ": ",
                        request.name, " is ", kind, ", for which it means nothing: leave it out");
}

template <class T>
Setter set_fraction(T& target) {
  return [&target](const std::string& value) -> std::string {
    const std::string_view text = value;
    const std::size_t slash = text.find('/');
    const std::optional<double> above = number(text.substr(0, slash));
    const std::optional<double> below =
        slash == std::string_view::npos ? 1.0 : number(text.substr(slash + 1));
    if (!above || !below || *below == 0.0) return "give a number, or two as 1/255";
    target = *above / *below;
    return "";
  };
}

}  // namespace

Setter noted(DataRequest& request, const char* option, Setter set) {
  return [&request, option, set = std::move(set)](const std::string& value) {
    request.given.emplace_back(option);
    return set(value);
  };
}

NamedData open_data(const DataRequest& request) {
  for (const char* name : {"mnist", "fashion-mnist", "cifar10"}) {
    if (request.name != name) continue;
    allow_only(request, "a set of its own form", {"--split", "--data-dir"});
    return known_set(request);
  }
  std::error_code error;
  require<IoError>(fs::exists(request.name, error), request.name,
                   ": no such folder or file, and no data set's name: give mnist, fashion-mnist, cifar10, a "
                   "folder with one "
                   "sub-folder of pictures for each class, a .csv table or a packed file");
  if (fs::is_directory(request.name, error)) {
    allow_only(request, "a folder", {"--resize", "--size", "--grey", "--scale", "--offset"});
    return folder(request);
  }
  if (has_ending(request.name, ".csv") || has_ending(request.name, ".csv.gz")) {
    allow_only(request, "a table", {"--size", "--label-column", "--scale", "--offset"});
    return table(request);
  }
  allow_only(request, "a packed file", {});
  return packed(request);
}

Setter image_shape(std::optional<Shape>& target) {
  return [&target](const std::string& value) -> std::string {
    Shape shape;
    std::string_view rest = value;
    while (!rest.empty() && shape.rank() < 4) {
      const std::string_view part = rest.substr(0, rest.find('x'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      const std::optional<double> extent = number(part);
      if (!extent || *extent < 1.0 || *extent > 1e6 || *extent != std::floor(*extent))
        return "give it as 28x28x1";
      shape.push_back(static_cast<std::int64_t>(*extent));
    }
    if (shape.rank() == 2) shape.push_back(3);
    if (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3)) return "give it as 28x28x1: 1 or 3 channels";
    target = shape;
    return "";
  };
}

Setter fraction(double& target) {
  return set_fraction(target);
}

Setter fraction(std::optional<double>& target) {
  return set_fraction(target);
}

}  // namespace ronde::apps
