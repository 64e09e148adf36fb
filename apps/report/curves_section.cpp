// Loss, accuracy, learning rate and speed by epoch.
#include <limits>
#include <utility>

#include "report/line_chart.h"
#include "report/sections.h"

namespace ronde::apps {
namespace {

template <class Value>
Series series(const Report& report, std::string name, Value value) {
  Series result{.name = std::move(name)};
  for (const EpochReport& epoch : report.epochs) result.values.push_back(value(epoch));
  return result;
}

double or_nan(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

std::string curves_section(const Report& report) {
  LineChart loss{.title = "Loss"}, accuracy{.title = "Accuracy", .is_share = true};
  LineChart rate{.title = "Learning rate", .from_zero = true}, speed{.title = "Speed", .from_zero = true};
  loss.series = {series(report, "training", [](const EpochReport& e) { return e.loss; }),
                 series(report, "validation", [](const EpochReport& e) { return or_nan(e.val_loss); })};
  accuracy.series = {
      series(report, "training", [](const EpochReport& e) { return e.accuracy; }),
      series(report, "validation", [](const EpochReport& e) { return or_nan(e.val_accuracy); })};
  rate.series = {series(report, "rate", [](const EpochReport& e) { return e.learning_rate; })};
  speed.series = {series(report, "images/s", [](const EpochReport& e) { return e.images_per_second; })};
  std::string html;
  for (LineChart* chart : {&loss, &accuracy, &rate, &speed}) {
    for (const EpochReport& epoch : report.epochs) chart->epochs.push_back(epoch.epoch);
    html += line_chart(*chart);
  }
  return html.empty() ? "" : "<section><h2>Curves</h2>\n<div class=\"pair\">\n" + html + "</div></section>\n";
}

}  // namespace ronde::apps
