#include "report/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ronde/core/text.h>

#include "report/axis.h"
#include "report/html_text.h"

namespace ronde::apps {
namespace {

// The drawing's own units: about a pixel each on a phone, more on a wide screen.
constexpr double kWidth = 400.0, kHeight = 220.0;
constexpr double kLeft = 46.0, kRight = 390.0, kTop = 24.0, kBottom = 184.0;
constexpr double kLeastShare = 0.05;  // of an axis: less would make noise look like news
constexpr int kValueTicks = 5, kEpochTicks = 8;
constexpr std::size_t kMostDots = 30;    // of a line: more would hide it
constexpr std::size_t kMostAreas = 200;  // that react to the pointer

std::string at(double coordinate) {
  return fixed(coordinate, 1);
}

/// From values to coordinates.
struct Scale {
  Ticks ticks;
  std::vector<std::int64_t> epochs;

  double x(std::size_t i) const {
    if (epochs.front() == epochs.back()) return (kLeft + kRight) / 2;
    const auto from_first = static_cast<double>(epochs[i] - epochs.front());
    return kLeft + (kRight - kLeft) * from_first / static_cast<double>(epochs.back() - epochs.front());
  }
  double y(double value) const {
    return kBottom - (kBottom - kTop) * (value - ticks.low) / (ticks.high - ticks.low);
  }
};

std::string value_text(const LineChart& chart, double value) {
  return chart.is_share ? percent(value) : brief(value);
}

Scale make_scale(const LineChart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& series : chart.series) {
    for (const double value : series.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (chart.is_share && high - low < kLeastShare) {
    low = std::max(0.0, (low + high - kLeastShare) / 2);
    high = std::min(1.0, low + kLeastShare);
  }
  if (chart.from_zero) low = std::min(0.0, low);
  if (chart.from_zero && high <= 0.0) high = 1.0;
  if (chart.from_zero && low == 0.0) high *= 1.05;  // a line along the upper edge looks cut off
  Scale scale{.ticks = round_ticks(low, high, kValueTicks), .epochs = chart.epochs};
  if (chart.is_share) {
    scale.ticks.high = std::min(scale.ticks.high, 1.0);
    scale.ticks.low = std::max(scale.ticks.low, 0.0);
  }
  return scale;
}

std::string value_axis(const LineChart& chart, const Scale& scale) {
  std::string svg;
  for (const double value : scale.ticks.values()) {
    const double y = scale.y(value);
    const std::string label = chart.is_share ? tick_label(100.0 * value, 100.0 * scale.ticks.step) + "\u00a0%"
                                             : tick_label(value, scale.ticks.step);
    svg += cat("<line class=\"grid\" x1=\"", at(kLeft), "\" x2=\"", at(kRight), "\" y1=\"", at(y), "\" y2=\"",
               at(y), "\"/><text class=\"tick\" text-anchor=\"end\" x=\"", at(kLeft - 6), "\" y=\"",
               at(y + 3.5), "\">", label, "</text>\n");
  }
  return svg;
}

std::string epoch_axis(const Scale& scale) {
  std::string svg;
  for (const std::int64_t epoch : whole_ticks(scale.epochs.front(), scale.epochs.back(), kEpochTicks)) {
    const auto found = std::lower_bound(scale.epochs.begin(), scale.epochs.end(), epoch);
    const double x = scale.x(static_cast<std::size_t>(found - scale.epochs.begin()));
    svg += cat("<text class=\"tick\" text-anchor=\"middle\" x=\"", at(x), "\" y=\"", at(kBottom + 16), "\">",
               epoch, "</text>\n");
  }
  return svg + cat("<text class=\"tick\" text-anchor=\"middle\" x=\"", at((kLeft + kRight) / 2), "\" y=\"",
                   at(kBottom + 32), "\">epoch</text>\n");
}

std::string line(const Series& series, std::size_t number, const Scale& scale) {
  std::string path, dots;
  std::size_t points = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (!std::isfinite(series.values[i])) continue;
    const std::string x = at(scale.x(i)), y = at(scale.y(series.values[i]));
    path += cat(path.empty() ? "M" : "L", x, " ", y);
    dots += cat("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"2.6\"/>");
    ++points;
  }
  return cat("<g class=\"series s", number, "\"><path d=\"", path, "\"/>", points > kMostDots ? "" : dots,
             "</g>\n");
}

/// Areas over the whole height that show an epoch's values while the pointer is over them.
std::string areas(const LineChart& chart, const Scale& scale) {
  const std::size_t count = chart.epochs.size();
  const std::size_t stride = (count + kMostAreas - 1) / kMostAreas;
  const double half = 0.5 * (kRight - kLeft) * static_cast<double>(stride) /
                      static_cast<double>(std::max<std::size_t>(count, 2) - 1);
  std::string svg;
  for (std::size_t i = 0; i < count; i += stride) {
    std::string text = cat("epoch ", chart.epochs[i], ": ");
    for (std::size_t k = 0; k < chart.series.size(); ++k)
      text += cat(k == 0 ? "" : ", ", chart.series.size() == 1 ? "" : chart.series[k].name + " ",
                  value_text(chart, chart.series[k].values[i]));
    const double x = scale.x(i), left = std::max(kLeft, x - half), right = std::min(kRight, x + half);
    svg += cat("<g class=\"area\"><rect x=\"", at(left), "\" y=\"", at(kTop), "\" width=\"", at(right - left),
               "\" height=\"", at(kBottom - kTop), "\"/><line x1=\"", at(x), "\" x2=\"", at(x), "\" y1=\"",
               at(kTop), "\" y2=\"", at(kBottom), "\"/><text text-anchor=\"end\" x=\"", at(kRight), "\" y=\"",
               at(kTop - 10), "\">", escaped(text), "</text><title>", escaped(text), "</title></g>\n");
  }
  return svg;
}

std::string legend(const LineChart& chart) {
  std::string html;
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    const auto& values = chart.series[k].values;
    const auto last = std::find_if(values.rbegin(), values.rend(), [](double v) { return std::isfinite(v); });
    html += cat(" <span class=\"key s", k, "\">", escaped(chart.series[k].name), " <b>",
                value_text(chart, *last), "</b></span>");
  }
  return html;
}

}  // namespace

std::string line_chart(const LineChart& wanted) {
  LineChart chart = wanted;
  std::erase_if(chart.series, [](const Series& series) {
    return std::none_of(series.values.begin(), series.values.end(),
                        [](double v) { return std::isfinite(v); });
  });
  if (chart.epochs.empty() || chart.series.empty()) return "";
  const Scale scale = make_scale(chart);
  std::string svg = value_axis(chart, scale) + epoch_axis(scale);
  for (std::size_t k = 0; k < chart.series.size(); ++k) svg += line(chart.series[k], k, scale);
  return cat("<figure class=\"chart\"><figcaption><h3>", escaped(chart.title), "</h3>", legend(chart),
             "</figcaption>\n<svg viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\" aria-label=\"",
             escaped(chart.title), " by epoch\">\n", svg, areas(chart, scale), "</svg></figure>\n");
}

}  // namespace ronde::apps
