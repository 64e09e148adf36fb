// Where the time went, what was run where, and every number.
#include <algorithm>
#include <optional>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

#include "report/html_text.h"
#include "report/sections.h"

namespace ronde::apps {
namespace {

std::string row(const std::string& name, const std::string& value) {
  return value.empty() ? "" : cat("<dt>", escaped(name), "</dt><dd>", escaped(value), "</dd>\n");
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? fixed(*value, digits) : "";
}

std::string epochs_table(const Report& report) {
  if (report.epochs.empty()) return "";
  const bool validates = std::any_of(report.epochs.begin(), report.epochs.end(),
                                     [](const EpochReport& e) { return e.val_loss || e.val_accuracy; });
  std::string html =
      cat("<details><summary>Numbers of each epoch</summary>\n<div class=\"wide\"><table "
          "class=\"epochs\"><thead><tr>"
          "<th>epoch</th><th>steps</th><th>samples</th><th>loss</th><th>accuracy</th>",
          validates ? "<th>val. loss</th><th>val. accuracy</th>" : "",
          "<th>learning rate</th><th>seconds</th><th>images/s</th></tr></thead>\n<tbody>\n");
  for (const EpochReport& e : report.epochs) {
    const std::string validation =
        validates ? cat("<td>", number(e.val_loss, 4), "</td><td>", number(e.val_accuracy, 4), "</td>") : "";
    html += cat("<tr><td>", e.epoch, "</td><td>", grouped(e.steps), "</td><td>", grouped(e.samples),
                "</td><td>", fixed(e.loss, 4), "</td><td>", fixed(e.accuracy, 4), "</td>", validation, "<td>",
                brief(e.learning_rate), "</td><td>", fixed(e.seconds, 1), "</td><td>",
                brief(e.images_per_second), "</td></tr>\n");
  }
  return html + "</tbody></table></div></details>\n";
}

}  // namespace

std::string times_section(const RunReport& run) {
  std::vector<TimeShare> times = run.times;
  double known = 0.0;
  for (const TimeShare& time : times) known += time.seconds;
  const double total = std::max(run.total_seconds, known);
  if (times.empty() || total <= 0.0) return "";
  if (total - known >= 0.005 * total) times.push_back({.what = "other", .seconds = total - known});
  std::string bar, keys;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string text = cat(escaped(times[i].what), " <b>", duration(times[i].seconds), "</b> ",
                                 percent(times[i].seconds / total, 1));
    const std::size_t color = times[i].what == "other" ? 5 : i % 5;
    bar +=
        cat("<i class=\"t", color, "\" style=\"--w:", fixed(100.0 * times[i].seconds / total, 2), "%\"></i>");
    keys += cat("<li class=\"t", color, "\">", text, "</li>\n");
  }
  return cat("<section><h2>Time</h2>\n<p class=\"note\">", duration(total),
             " from start to end.</p>\n<div class=\"times\">", bar, "</div>\n<ul class=\"times-key\">\n",
             keys, "</ul></section>\n");
}

std::string run_section(const RunReport& run) {
  const Report& report = run.report;
  const std::string command =
      run.command.empty() ? "" : cat("<pre class=\"command\">", escaped(run.command), "</pre>\n");
  std::string rows = row("Machine", run.machine) + row("Data", run.data);
  rows += row("Seed", report.program.empty() ? "" : cat(report.seed)) + row("Precision", report.precision);
  rows += row("Same for any number of ranks", report.deterministic ? "yes, bit for bit" : "");
  rows += row("Checkpoint", report.checkpoint) + row("SHA-256 of the weights", report.weights_sha256);
  return cat("<section><h2>Run</h2>\n", command, "<dl class=\"run\">\n", rows, "</dl>\n",
             epochs_table(report), "</section>\n");
}

}  // namespace ronde::apps
