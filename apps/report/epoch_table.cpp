#include "report/epoch_table.h"

#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

constexpr double kMostEpochs = 0x1p31;

/// NaN for what is no number: "NA".
double number_in(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value
                                                                  : std::numeric_limits<double>::quiet_NaN();
}

void assign(EpochReport& epoch, std::string_view column, double value) {
  if (column == "loss") epoch.loss = value;
  if (column == "accuracy") epoch.accuracy = value;
  if (column == "val_loss") epoch.val_loss = value;
  if (column == "val_accuracy") epoch.val_accuracy = value;
  if (column == "learning_rate" || column == "lr") epoch.learning_rate = value;
}

}  // namespace

Report parse_epoch_table(const std::string& text, const std::string& source) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::map<std::int64_t, EpochReport> epochs;
  std::vector<std::string> header;
  for (std::string& line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line, ',');
    if (header.empty()) {
      require<InputError>(cells.front() == "epoch", source, ": the first column is \"", cells.front(),
                          "\", expected epoch");
      header = cells;
      continue;
    }
    const double number = number_in(cells.front());
    require<InputError>(cells.size() == header.size() && number >= 0.0 && number < kMostEpochs, source,
                        ": row \"", line, "\" does not fit the header");
    EpochReport epoch;
    epoch.epoch = static_cast<std::int64_t>(number) + 1;
    epoch.loss = epoch.accuracy = epoch.learning_rate = epoch.images_per_second = kNone;
    for (std::size_t i = 0; i < cells.size(); ++i) assign(epoch, header[i], number_in(cells[i]));
    epochs[epoch.epoch] = epoch;
  }
  Report report;
  report.threads = 0;
  report.status.clear();
  for (const auto& [number, epoch] : epochs) report.epochs.push_back(epoch);
  return report;
}

}  // namespace ronde::apps
