#include "report/report_json.h"

#include <cstddef>
#include <limits>
#include <type_traits>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <nlohmann/json.hpp>

#include "report/html_text.h"

namespace ronde::apps {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostEpochs = std::int64_t{1} << 31;

/// Runs `read` on the text as JSON; what does not fit is an InputError that names the source.
template <class F>
void with_json(const std::string& text, const std::string& source, F read) {
  try {
    read(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(cat(source, ": ", error.what()));
  } catch (const InputError& error) {
    throw InputError(cat(source, ": ", error.what()));
  }
}

/// A number; null, which is how a number that is not finite is written, is NaN.
double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// A whole number between these: a conversion would not look.
std::int64_t whole_at(const Json& object, const char* key, std::int64_t least, std::int64_t most) {
  const Json& value = object.at(key);
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : value.is_number_integer();
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  require<InputError>(fits && number >= least && number <= most, "\"", key, "\" is ", value.dump(),
                      ", expected a whole number from ", least, " to ", most);
  return number;
}

template <class T>
void read_if_there(const Json& object, const char* key, T& target) {
  if (const auto found = object.find(key); found == object.end() || found->is_null()) return;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    target = static_cast<T>(
        whole_at(object, key, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
  else
    object.at(key).get_to(target);
}

double number_at(const Json& object, const char* key) {
  return object.contains(key) ? number(object.at(key)) : std::numeric_limits<double>::quiet_NaN();
}

std::optional<double> optional_number(const Json& object, const char* key) {
  return object.contains(key) ? std::optional(number(object.at(key))) : std::nullopt;
}

EpochReport parse_epoch(const Json& object, std::int64_t last) {
  EpochReport epoch;
  epoch.epoch = whole_at(object, "epoch", last + 1, kMostEpochs);
  read_if_there(object, "steps", epoch.steps);
  read_if_there(object, "samples", epoch.samples);
  epoch.loss = number_at(object, "loss");
  epoch.accuracy = number_at(object, "accuracy");
  epoch.val_loss = optional_number(object, "val_loss");
  epoch.val_accuracy = optional_number(object, "val_accuracy");
  epoch.learning_rate = number_at(object, "learning_rate");
  epoch.seconds = number_at(object, "seconds");
  epoch.images_per_second = number_at(object, "images_per_second");
  return epoch;
}

UnfinishedEpoch parse_unfinished(const Json& object) {
  return {.epoch = whole_at(object, "epoch", 1, kMostEpochs),
          .steps = whole_at(object, "steps", 0, kMost),
          .seconds = number_at(object, "seconds"),
          .images_per_second = number_at(object, "images_per_second")};
}

TestReport parse_test(const Json& object) {
  return {.loss = number_at(object, "loss"),
          .accuracy = number_at(object, "accuracy"),
          .correct = whole_at(object, "correct", 0, kMost),
          .count = whole_at(object, "count", 0, kMost)};
}

Json to_object(const EvaluationDetails& details) {
  Json object = {{"loss", details.test.loss},       {"accuracy", details.test.accuracy},
                 {"correct", details.test.correct}, {"count", details.test.count},
                 {"classes", details.class_names},  {"confusion", details.confusion},
                 {"mistakes", Json::array()}};
  for (const Mistake& m : details.mistakes)
    object["mistakes"].push_back({{"sample", m.sample},
                                  {"label", m.label},
                                  {"predicted", m.predicted},
                                  {"probability", m.probability},
                                  {"label_probability", m.label_probability},
                                  {"png", base64(m.png)}});
  return object;
}

EvaluationDetails parse_evaluation(const Json& object) {
  EvaluationDetails details{.test = parse_test(object)};
  object.at("classes").get_to(details.class_names);
  object.at("confusion").get_to(details.confusion);
  const std::int64_t classes = details.classes();
  require<InputError>(std::ssize(details.confusion) == classes * classes,
                      counted(details.confusion.size(), "count"), " in the confusion matrix of ",
                      counted(classes, "class", "classes"));
  for (const Json& item : object.at("mistakes")) {
    Mistake m{.sample = whole_at(item, "sample", 0, kMost),
              .label = whole_at(item, "label", 0, kMost),
              .predicted = whole_at(item, "predicted", 0, kMost),
              .probability = number_at(item, "probability"),
              .label_probability = number_at(item, "label_probability"),
              .png = from_base64(item.at("png").get<std::string>())};
    const auto is_class = [&](std::int64_t c) { return c >= 0 && c < classes; };
    require<InputError>(is_class(m.label) && is_class(m.predicted), "a mistake of class ", m.label, " or ",
                        m.predicted, ", but there are ", classes);
    details.mistakes.push_back(std::move(m));
  }
  return details;
}

Json to_object(const TimelineSummary& summary) {
  Json object = {{"communication", summary.communication},
                 {"hidden", summary.hidden},
                 {"clock_error", summary.clock_error},
                 {"lost", summary.lost},
                 {"ended_early", summary.ended_early},
                 {"ranks", Json::array()},
                 {"layers", Json::array()}};
  for (const RankSteps& rank : summary.ranks)
    object["ranks"].push_back({{"rank", rank.rank},
                               {"steps", rank.steps},
                               {"total", rank.total},
                               {"compute", rank.compute},
                               {"exchange", rank.exchange},
                               {"waiting", rank.waiting},
                               {"loader", rank.loader},
                               {"callbacks", rank.callbacks}});
  for (const LayerSteps& layer : summary.layers)
    object["layers"].push_back(
        {{"name", layer.name}, {"forward", layer.forward}, {"backward", layer.backward}});
  return object;
}

TimelineSummary parse_timeline(const Json& object) {
  TimelineSummary summary{.communication = number_at(object, "communication"),
                          .hidden = number_at(object, "hidden"),
                          .clock_error = number_at(object, "clock_error")};
  read_if_there(object, "lost", summary.lost);
  read_if_there(object, "ended_early", summary.ended_early);
  for (const Json& item : object.at("ranks"))
    summary.ranks.push_back(
        {.rank = static_cast<int>(whole_at(item, "rank", 0, std::numeric_limits<int>::max())),
         .steps = whole_at(item, "steps", 0, kMost),
         .total = number_at(item, "total"),
         .compute = number_at(item, "compute"),
         .exchange = number_at(item, "exchange"),
         .waiting = number_at(item, "waiting"),
         .loader = number_at(item, "loader"),
         .callbacks = number_at(item, "callbacks")});
  for (const Json& item : object.at("layers"))
    summary.layers.push_back({.name = item.at("name").get<std::string>(),
                              .forward = number_at(item, "forward"),
                              .backward = number_at(item, "backward")});
  return summary;
}

}  // namespace

std::string details_json(const RunReport& run) {
  Json object = {{"command", run.command},
                 {"machine", run.machine},
                 {"data", run.data},
                 {"finished", run.finished},
                 {"total_seconds", run.total_seconds},
                 {"times", Json::array()}};
  for (const TimeShare& time : run.times)
    object["times"].push_back({{"what", time.what}, {"seconds", time.seconds}});
  if (run.details) object["evaluation"] = to_object(*run.details);
  if (run.timeline) object["timeline"] = to_object(*run.timeline);
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void parse_details(const std::string& text, const std::string& source, RunReport& run) {
  with_json(text, source, [&](const Json& object) {
    read_if_there(object, "command", run.command);
    read_if_there(object, "machine", run.machine);
    read_if_there(object, "data", run.data);
    read_if_there(object, "finished", run.finished);
    read_if_there(object, "total_seconds", run.total_seconds);
    run.times.clear();
    for (const Json& time : object.value("times", Json::array()))
      run.times.push_back(
          {.what = time.at("what").get<std::string>(), .seconds = number_at(time, "seconds")});
    run.details.reset();
    if (object.contains("evaluation")) run.details = parse_evaluation(object.at("evaluation"));
    run.timeline.reset();
    if (object.contains("timeline")) run.timeline = parse_timeline(object.at("timeline"));
  });
}

Report parse_report(const std::string& text, const std::string& source) {
  Report report;
  with_json(text, source, [&](const Json& object) {
    read_if_there(object, "program", report.program);
    read_if_there(object, "recipe", report.recipe);
    read_if_there(object, "world_size", report.world_size);
    require<InputError>(report.world_size >= 1, "\"world_size\" is ", report.world_size,
                        ", expected 1 or more");
    read_if_there(object, "threads", report.threads);
    read_if_there(object, "device", report.device);
    read_if_there(object, "precision", report.precision);
    read_if_there(object, "deterministic", report.deterministic);
    read_if_there(object, "seed", report.seed);
    read_if_there(object, "parameters", report.parameters);
    read_if_there(object, "global_batch", report.global_batch);
    read_if_there(object, "status", report.status);
    std::int64_t last = 0;
    for (const Json& epoch : object.at("epochs")) {
      report.epochs.push_back(parse_epoch(epoch, last));
      last = report.epochs.back().epoch;
    }
    if (object.contains("unfinished_epoch"))
      report.unfinished = parse_unfinished(object.at("unfinished_epoch"));
    if (object.contains("test")) report.test = parse_test(object.at("test"));
    read_if_there(object, "train_seconds", report.train_seconds);
    read_if_there(object, "images_per_second", report.images_per_second);
    read_if_there(object, "peak_rss_bytes", report.peak_rss_bytes);
    read_if_there(object, "weights_sha256", report.weights_sha256);
    read_if_there(object, "checkpoint", report.checkpoint);
  });
  return report;
}

}  // namespace ronde::apps
