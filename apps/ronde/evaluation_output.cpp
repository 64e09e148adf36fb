#include "ronde/evaluation_output.h"

#include <algorithm>
#include <vector>

#include <ronde/core/counted.h>
#include <nlohmann/json.hpp>

#include "common/text_table.h"
#include "report/html_text.h"

namespace ronde::apps {
namespace {

using Json = nlohmann::ordered_json;

double share_of(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// "96.67 %"; "-" of nothing.
std::string percentage(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? fixed(100.0 * share_of(part, whole), 2) + " %" : "-";
}

const std::string& name_of(const EvaluationDetails& details, std::int64_t label) {
  return details.class_names[static_cast<std::size_t>(label)];
}

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ');
}

/// Names on the left of their column, also where they are numbers.
std::string classes_text(const EvaluationDetails& details) {
  constexpr std::size_t kShare = 10, kCount = 8, kWhole = 7;
  std::size_t width = 5;
  for (const std::string& name : details.class_names) width = std::max(width, name.size());
  const auto row = [&](const std::string& name, const std::string& share, const std::string& right,
                       const std::string& whole) {
    return cat("  ", name, padding(name, width), padding(share, kShare), share, padding(right, kCount), right,
               padding(whole, kWhole), whole, '\n');
  };
  std::string text = row("class", "accuracy", "right", "of");
  for (std::int64_t label = 0; label < details.classes(); ++label) {
    const std::int64_t samples = details.count(label), right = details.confused(label, label);
    text += row(name_of(details, label), percentage(right, samples), grouped(right), grouped(samples));
  }
  return text;
}

Json confusion_of(const EvaluationDetails& details, std::int64_t label) {
  Json row = Json::array();
  for (std::int64_t said = 0; said < details.classes(); ++said) row.push_back(details.confused(label, said));
  return row;
}

}  // namespace

std::string evaluation_text(const Evaluated& evaluated, const EvaluationDetails& details) {
  const TestReport& test = details.test;
  return cat(evaluated.description, "\nLoss: ", fixed(test.loss, 4), "\nAccuracy: ", fixed(test.accuracy, 4),
             " (", grouped(test.correct), " of ", grouped(test.count), ")\n\n", classes_text(details));
}

std::string confusion_text(const EvaluationDetails& details) {
  std::vector<std::vector<std::string>> rows(1, {"class \\ answer"});
  rows[0].insert(rows[0].end(), details.class_names.begin(), details.class_names.end());
  for (std::int64_t label = 0; label < details.classes(); ++label) {
    rows.push_back({name_of(details, label)});
    for (std::int64_t said = 0; said < details.classes(); ++said)
      rows.back().push_back(grouped(details.confused(label, said)));
  }
  return cat('\n', text_table(rows));
}

std::string evaluation_json(const Evaluated& evaluated, const EvaluationDetails& details) {
  Json object = {
      {"file", evaluated.file},      {"data", evaluated.description},     {"world_size", evaluated.ranks},
      {"loss", details.test.loss},   {"accuracy", details.test.accuracy}, {"correct", details.test.correct},
      {"count", details.test.count}, {"classes", Json::array()},          {"confusion", Json::array()}};
  for (std::int64_t label = 0; label < details.classes(); ++label) {
    const std::int64_t samples = details.count(label), right = details.confused(label, label);
    object["classes"].push_back({{"name", name_of(details, label)},
                                 {"accuracy", samples > 0 ? Json(share_of(right, samples)) : Json()},
                                 {"correct", right},
                                 {"count", samples}});
    object["confusion"].push_back(confusion_of(details, label));
  }
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::apps
