// The top of the page: the result in one sentence, and the key figures.
#include <cmath>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

#include "report/html_text.h"
#include "report/sections.h"

namespace ronde::apps {
namespace {

std::string time_text(const RunReport& run) {
  const double seconds = run.total_seconds > 0.0 ? run.total_seconds : run.report.train_seconds;
  return seconds > 0.0 ? ", in " + duration(seconds) : "";
}

std::string sentence(const RunReport& run) {
  const Report& report = run.report;
  const std::string ranks = report.threads > 0 ? cat(" on ", counted(report.world_size, "rank")) : "";
  const std::string work = cat(counted(std::ssize(report.epochs), "epoch"), ranks, time_text(run));
  if (report.status == "running") return "Still training: " + work + " so far.";
  if (report.status == "saved") return "Told to end, and saved, after " + work + ".";
  if (report.status == "failed" && report.test && !std::isfinite(report.test->loss))
    return cat("The test loss is not a finite number after ", work, ": these weights are of no use.");
  if (report.status == "failed" && report.test)
    return cat("A file could not be written at the end of ", work, ".");
  if (report.status == "failed") return "Stopped by an error after " + work + ".";
  if (!report.test) return work + ".";
  return cat(grouped(report.test->correct), " of ", grouped(report.test->count), " test images right after ",
             work, ".");
}

std::string figure(const std::string& name, const std::string& value, const std::string& note = "") {
  const std::string small = note.empty() ? "" : cat("<small>", escaped(note), "</small>");
  return cat("<div class=\"figure\"><dt>", escaped(name), "</dt><dd>", escaped(value), small,
             "</dd></div>\n");
}

}  // namespace

std::string page_title(const Report& report) {
  const std::string result = report.test ? ": " + percent(report.test->accuracy) : "";
  return cat(report.program.empty() ? "training" : report.program,
             report.recipe.empty() ? "" : ", recipe " + report.recipe, result);
}

std::string header_section(const RunReport& run) {
  const Report& report = run.report;
  const std::string when = run.finished.empty() ? "" : cat(" · ", escaped(run.finished));
  const std::string recipe =
      report.recipe.empty() ? "" : cat(" <em>recipe ", escaped(report.recipe), "</em>");
  const std::string status =
      report.status.empty() ? ""
                            : cat("<span class=\"status ", report.status == "finished" ? "good" : "other",
                                  "\">", escaped(report.status), "</span>");
  return cat("<header>\n<p class=\"over\">Training report", when, status, "</p>\n<h1>",
             escaped(report.program.empty() ? "Training" : report.program), recipe,
             "</h1>\n<p class=\"lead\">", escaped(sentence(run)), "</p>\n</header>\n");
}

std::string figures_section(const RunReport& run) {
  const Report& report = run.report;
  std::string html;
  if (report.test) {
    html += figure("Test accuracy", percent(report.test->accuracy));
    html += figure("Test loss", fixed(report.test->loss, 4));
  }
  if (report.images_per_second > 0.0)
    html += figure("Images per second", brief(report.images_per_second), "all ranks, training only");
  if (report.train_seconds > 0.0) html += figure("Training time", duration(report.train_seconds));
  if (report.threads > 0)
    html += figure("Ranks", grouped(report.world_size),
                   cat(counted(report.threads, "thread"), " each, ", report.device));
  if (report.global_batch > 0)
    html += figure("Global batch", grouped(report.global_batch),
                   cat(grouped(report.global_batch / report.world_size), " a rank"));
  if (report.parameters > 0) html += figure("Parameters", grouped(report.parameters), report.precision);
  if (report.peak_rss_bytes > 0)
    html += figure("Peak memory", bytes_text(report.peak_rss_bytes), "largest rank");
  return html.empty() ? "" : "<dl class=\"figures\">\n" + html + "</dl>\n";
}

}  // namespace ronde::apps
