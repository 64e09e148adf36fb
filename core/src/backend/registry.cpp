// The backends of this process. A list in code, not self-registration: a static library would drop that.
#include <cstdlib>

#include <ronde/core/backend.h>
#include <ronde/core/cuda.h>
#include <ronde/core/thread_pool.h>

#include "backend/bf16/with_bfloat16.h"
#include "backend/onednn/onednn_backend.h"

namespace ronde::inline v0 {

namespace {

std::string names() {
  std::string text;
  for (const Backend* candidate : backends()) text += (text.empty() ? "" : ", ") + candidate->name();
  return text;
}

Backend& find(std::string_view name, std::string_view origin) {
  for (Backend* candidate : backends())
    if (candidate->name() == name) return *candidate;
  throw UsageError(
      cat("[backend] there is no backend \"", name, "\"", origin, "; this build has: ", names()));
}

}  // namespace

const std::vector<Backend*>& backends() {
  // Never destroyed: a tensor in a static variable may give its memory back after `main`.
  static const auto& all = *[] {
    auto* list = new std::vector<Backend*>;
    if (std::unique_ptr<Backend> onednn = make_onednn_backend()) list->push_back(onednn.release());
    list->push_back(new WithBfloat16);
    return list;
  }();
  return all;
}

Backend& backend(std::string_view name) {
  return name == "cuda" ? cuda_backend() : find(name, "");
}

Backend& default_backend() {
  static Backend& chosen = [&]() -> Backend& {
    const char* wanted = std::getenv("RONDE_BACKEND");
    return wanted && *wanted ? find(wanted, " (from $RONDE_BACKEND)") : *backends().front();
  }();
  return chosen;
}

int thread_count() {
  return backends().front()->threads().size();
}

void set_thread_count(int threads) {
  for (Backend* backend : backends()) backend->threads().resize(threads);
}

}  // namespace ronde::inline v0
