#include "report/report.h"

#include <nlohmann/json.hpp>

namespace ronde::apps {
namespace {

using Json = nlohmann::ordered_json;

Json to_object(const EpochReport& epoch) {
  Json object = {{"epoch", epoch.epoch},
                 {"steps", epoch.steps},
                 {"samples", epoch.samples},
                 {"loss", epoch.loss},
                 {"accuracy", epoch.accuracy}};
  if (epoch.val_loss) object["val_loss"] = *epoch.val_loss;
  if (epoch.val_accuracy) object["val_accuracy"] = *epoch.val_accuracy;
  object["learning_rate"] = epoch.learning_rate;
  object["seconds"] = epoch.seconds;
  object["images_per_second"] = epoch.images_per_second;
  return object;
}

Json to_object(const UnfinishedEpoch& part) {
  return {{"epoch", part.epoch},
          {"steps", part.steps},
          {"seconds", part.seconds},
          {"images_per_second", part.images_per_second}};
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

}  // namespace

std::string to_json(const Report& report) {
  Json object = {{"program", report.program},
                 {"version", RONDE_VERSION},
                 {"recipe", report.recipe},
                 {"world_size", report.world_size},
                 {"threads", report.threads},
                 {"device", report.device},
                 {"precision", report.precision},
                 {"deterministic", report.deterministic},
                 {"seed", report.seed},
                 {"parameters", report.parameters},
                 {"global_batch", report.global_batch},
                 {"status", report.status}};
  object["epochs"] = Json::array();
  for (const EpochReport& epoch : report.epochs) object["epochs"].push_back(to_object(epoch));
  if (report.unfinished) object["unfinished_epoch"] = to_object(*report.unfinished);
  if (report.test)
    object["test"] = {{"loss", report.test->loss},
                      {"accuracy", report.test->accuracy},
                      {"correct", report.test->correct},
                      {"count", report.test->count}};
  object["train_seconds"] = report.train_seconds;
  object["images_per_second"] = report.images_per_second;
  object["peak_rss_bytes"] = report.peak_rss_bytes;
  object["weights_sha256"] = text_or_null(report.weights_sha256);
  object["checkpoint"] = text_or_null(report.checkpoint);
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ronde::apps
