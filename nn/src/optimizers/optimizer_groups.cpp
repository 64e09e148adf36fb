#include <algorithm>
#include <string_view>

#include <ronde/core/trace.h>
#include <ronde/nn/optimizer_groups.h>

namespace ronde::inline v0 {

namespace {

bool fits(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  for (std::size_t skipped = star; skipped <= name.size(); ++skipped)
    if (fits(name.substr(skipped), pattern.substr(star + 1))) return true;
  return false;
}

const std::vector<OptimizerGroup>& checked(const std::vector<OptimizerGroup>& groups) {
  require<UsageError>(!groups.empty(), "[optimizer_groups] expects at least one group");
  for (const OptimizerGroup& group : groups) {
    require<UsageError>(group.optimizer != nullptr, "[optimizer_groups] the group \"", group.weights,
                        "\" has no optimizer");
    require<UsageError>(group.optimizer->learning_rate() > 0, "[optimizer_groups] the group \"",
                        group.weights, "\" expects a positive learning rate, got ",
                        group.optimizer->learning_rate());
    require<UsageError>(!group.optimizer->moving_average(), "[optimizer_groups] the group \"", group.weights,
                        "\" has a moving average: it is the OptimizerGroups that keeps one, of all weights");
  }
  return groups;
}

/// What `part` has of elements [begin, end).
void append_overlap(const OptimizerPart& part, ArenaRange wanted, std::vector<ArenaRange>& ranges) {
  for (const ArenaRange& range : part.ranges) {
    const ArenaRange common{std::max(range.begin, wanted.begin), std::min(range.end, wanted.end)};
    if (common.count() <= 0) continue;
    // Neighbours in one kernel; not across the end of a range of the part, behind which state goes on
    // elsewhere.
    if (!ranges.empty() && ranges.back().end == common.begin && common.begin != range.begin)
      ranges.back().end = common.end;
    else
      ranges.push_back(common);
  }
}

}  // namespace

OptimizerGroups::OptimizerGroups(std::vector<OptimizerGroup> groups)
    : Optimizer({.learning_rate = checked(groups).front().optimizer->learning_rate(),
                 .decay = 0.0,
                 .weight_decay = 0.0,
                 .clip = {}}),
      groups_(std::move(groups)) {
  for (const OptimizerGroup& group : groups_) rates_.push_back(group.optimizer->learning_rate());
}

ConfigDict OptimizerGroups::own_settings() const {
  ConfigList names;
  for (const OptimizerGroup& group : groups_) names.emplace_back(group.weights);
  ConfigDict settings{{"groups", std::move(names)}};
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::string& group = groups_[i].weights;
    settings.emplace_back(cat(group, ": class_name"), groups_[i].optimizer->name());
    settings.emplace_back(cat(group, ": share of the rate"), rates_[i] / rates_[0]);
    for (const auto& [key, value] : settings_of(*groups_[i].optimizer))
      settings.emplace_back(cat(group, ": ", key), value);
  }
  for (auto& setting : moving_average_config()) settings.push_back(std::move(setting));
  return settings;
}

void OptimizerGroups::attach(ParameterArena& arena) {
  Optimizer::attach(arena);
  slots_.clear();
  std::vector<std::vector<ArenaRange>> ranges(groups_.size());
  std::vector<bool> is_used(groups_.size(), false);
  std::vector<Segment> trained;
  for (const Segment& segment : arena.segments())
    if (!segment.frozen) trained.push_back(segment);
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const OptimizerGroup& candidate) {
      return fits(trained[i].name, candidate.weights);
    });
    require<UsageError>(group != groups_.end(), "[optimizer_groups] no group is for ", trained[i].name);
    const auto g = static_cast<std::size_t>(group - groups_.begin());
    is_used[g] = true;
    const std::int64_t end = i + 1 < trained.size() ? trained[i + 1].offset : arena.trainable_size();
    append_overlap(part(), {trained[i].offset, end}, ranges[g]);
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    require<UsageError>(is_used[g], "[optimizer_groups] no weight is left for the group \"",
                        groups_[g].weights, "\"");
    groups_[g].optimizer->restrict_to({.ranges = ranges[g],
                                       .sum = part().sum,
                                       .state = [this](const std::string& name) { return shared_slot(name); },
                                       .place = [this](std::int64_t element) { return place_of(element); }});
    groups_[g].optimizer->attach(arena);
  }
}

// All elements of the part, so that slots can be cut into weights without knowing groups.
Tensor OptimizerGroups::shared_slot(const std::string& name) {
  for (const OptimizerSlot& slot : slots_)
    if (slot.name == name) return slot.values;
  slots_.push_back({name, make_state(name)});
  return slots_.back().values;
}

std::int64_t OptimizerGroups::place_of(std::int64_t element) const {
  std::int64_t offset = 0;
  for (const ArenaRange& range : part().ranges) {
    if (element >= range.begin && element < range.end) return offset + element - range.begin;
    offset += range.count();
  }
  return offset;
}

void OptimizerGroups::update_weights(double scale) {
  const double factor = current_learning_rate() / rates_[0];
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Optimizer& optimizer = *groups_[g].optimizer;
    optimizer.set_learning_rate(rates_[g] * factor);
    optimizer.set_iterations(iterations());
    optimizer.scale_momentum_once(momentum_factor());
    optimizer.step(scale);
  }
}

// The groups' optimizers have their own.
void OptimizerGroups::update(const Slice&, const StepParams&) {}

std::vector<Optimizer*> OptimizerGroups::optimizers() const {
  std::vector<Optimizer*> list;
  for (const OptimizerGroup& group : groups_) list.push_back(group.optimizer.get());
  return list;
}

}  // namespace ronde::inline v0
