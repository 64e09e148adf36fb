#include <ronde/models/model.h>

namespace ronde::inline v0 {

void Logs::set(const std::string& name, double value) {
  for (auto& [key, held] : entries_) {
    if (key != name) continue;
    held = value;
    return;
  }
  entries_.emplace_back(name, value);
}

const double* Logs::find(const std::string& name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

double Logs::at(const std::string& name) const {
  if (const double* value = find(name)) return *value;
  std::string known;
  for (const auto& [key, value] : entries_) known = cat(known, known.empty() ? "" : ", ", key);
  throw UsageError(cat("[logs] there is no \"", name, "\", only ", known.empty() ? "nothing yet" : known));
}

}  // namespace ronde::inline v0
