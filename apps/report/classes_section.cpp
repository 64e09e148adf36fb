// Which classes the net knows, and which it takes for which.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <ronde/core/counted.h>
#include <ronde/core/text.h>

#include "report/html_text.h"
#include "report/sections.h"

namespace ronde::apps {
namespace {

constexpr std::int64_t kMatrixClasses = 20;  // a table of more cannot be read
constexpr std::size_t kConfusions = 8;

struct Confusion {
  std::int64_t label = 0, predicted = 0, count = 0;
};

const std::string& name_of(const EvaluationDetails& details, std::int64_t label) {
  return details.class_names[static_cast<std::size_t>(label)];
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

std::string cell(const EvaluationDetails& details, std::int64_t label, std::int64_t predicted,
                 std::int64_t samples) {
  const std::int64_t count = details.confused(label, predicted);
  if (count == 0) return "<td class=\"none\">0</td>";
  const double part = share(count, samples);
  // Few mistakes are what one looks for: their colour grows faster than their number.
  const double strength = label == predicted ? part : std::sqrt(part);
  const std::string what = label == predicted
                               ? cat(name_of(details, label), " recognised")
                               : cat(name_of(details, label), " taken for ", name_of(details, predicted));
  return cat("<td class=\"", label == predicted ? "hit" : "miss", strength > 0.5 ? " strong" : "",
             "\" style=\"--s:", fixed(strength, 2), "\" title=\"", escaped(what), ": ", grouped(count),
             " of ", grouped(samples), "\">", count, "</td>");
}

std::string matrix(const EvaluationDetails& details) {
  constexpr std::size_t kShort = 3;  // characters that stand upright above a column
  const bool is_short = std::all_of(details.class_names.begin(), details.class_names.end(),
                                    [](const std::string& name) { return name.size() <= kShort; });
  std::string html = cat("<table class=\"matrix", is_short ? " short" : "", "\"><thead><tr><th></th>");
  for (const std::string& name : details.class_names)
    html += cat("<th scope=\"col\"><span>", escaped(name), "</span></th>");
  html += "</tr></thead>\n<tbody>\n";
  for (std::int64_t label = 0; label < details.classes(); ++label) {
    const std::int64_t samples = details.count(label);
    html += cat("<tr><th scope=\"row\">", escaped(name_of(details, label)), "</th>");
    for (std::int64_t k = 0; k < details.classes(); ++k) html += cell(details, label, k, samples);
    html += "</tr>\n";
  }
  return cat(
      "<div class=\"block\"><h3>Confusion matrix</h3><p class=\"note\">A row is what the images are, a "
      "column "
      "what the net says.</p>\n<div class=\"wide\">",
      html, "</tbody></table></div></div>\n");
}

std::string confusions(const EvaluationDetails& details) {
  std::vector<Confusion> all;
  for (std::int64_t label = 0; label < details.classes(); ++label)
    for (std::int64_t k = 0; k < details.classes(); ++k)
      if (k != label && details.confused(label, k) > 0)
        all.push_back({.label = label, .predicted = k, .count = details.confused(label, k)});
  if (all.empty()) return "";
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  if (all.size() > kConfusions) all.resize(kConfusions);
  std::string html = "<h3>Most often confused</h3>\n<ul class=\"confusions\">\n";
  for (const Confusion& c : all)
    html += cat("<li><b>", grouped(c.count), "</b> ", escaped(name_of(details, c.label)), " taken for ",
                escaped(name_of(details, c.predicted)), "</li>\n");
  return html + "</ul>\n";
}

/// In the data set's order; of many classes the worst ones.
std::vector<std::int64_t> shown_classes(const EvaluationDetails& details) {
  std::vector<std::int64_t> classes(static_cast<std::size_t>(details.classes()));
  std::iota(classes.begin(), classes.end(), 0);
  if (details.classes() <= kMatrixClasses) return classes;
  const auto accuracy = [&](std::int64_t c) { return share(details.confused(c, c), details.count(c)); };
  std::stable_sort(classes.begin(), classes.end(),
                   [&](std::int64_t a, std::int64_t b) { return accuracy(a) < accuracy(b); });
  classes.resize(static_cast<std::size_t>(kMatrixClasses));
  return classes;
}

std::string by_class(const EvaluationDetails& details) {
  std::string html;
  for (const std::int64_t label : shown_classes(details)) {
    const std::int64_t samples = details.count(label), right = details.confused(label, label);
    if (samples == 0) continue;
    html += cat("<div class=\"bar\" title=\"", grouped(right), " of ", grouped(samples), "\"><span>",
                escaped(name_of(details, label)),
                "</span><i style=\"--w:", fixed(100.0 * share(right, samples), 2), "%\"></i><b>",
                percent(share(right, samples), 1), "</b></div>\n");
  }
  const bool all = details.classes() <= kMatrixClasses;
  return cat("<div class=\"block\"><h3>Accuracy by class", all ? "" : ": the lowest",
             "</h3>\n<div class=\"bars\">\n", html, "</div>\n", confusions(details), "</div>\n");
}

}  // namespace

std::string classes_section(const EvaluationDetails& details) {
  if (details.confusion.empty() || details.test.count == 0) return "";
  const std::string table = details.classes() <= kMatrixClasses ? matrix(details) : "";
  return cat("<section><h2>Classes</h2>\n<div class=\"pair\">\n", table, by_class(details),
             "</div></section>\n");
}

std::string mistakes_section(const EvaluationDetails& details) {
  std::string html;
  for (const Mistake& m : details.mistakes) {
    if (m.png.empty()) continue;
    const std::string label = escaped(name_of(details, m.label));
    const std::string predicted = escaped(name_of(details, m.predicted));
    html +=
        cat("<figure title=\"test image ", m.sample, "\"><img alt=\"test image ", m.sample, ": ", label,
            "\" src=\"", png_uri(m.png), "\"/><figcaption><b>", predicted, "</b> ", percent(m.probability, 1),
            "<br/>is <b>", label, "</b> ", percent(m.label_probability, 1), "</figcaption></figure>\n");
  }
  if (html.empty()) return "";
  return cat(
      "<section><h2>Worst mistakes</h2>\n<p class=\"note\">What the net was surest of and wrong: its answer, "
      "then the truth, each with the probability the net gives it.</p>\n<div class=\"mistakes\">\n",
      html, "</div></section>\n");
}

}  // namespace ronde::apps
