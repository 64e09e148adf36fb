#include "autograd/release.h"

#include <vector>

namespace ronde::inline v0 {
namespace {

using Links = std::vector<std::shared_ptr<const void>>;

// The list that the outermost release() of this thread works off. A plain pointer, so that it is still usable
// while objects of static storage duration are destroyed.
thread_local Links* pending = nullptr;

}  // namespace

void release(std::shared_ptr<const void> link) noexcept {
  if (link == nullptr || link.use_count() > 1) return;  // dropping it destroys nothing
  if (pending != nullptr) {
    pending->push_back(std::move(link));
    return;
  }
  Links links;
  pending = &links;
  link.reset();
  while (!links.empty()) {
    const std::shared_ptr<const void> next = std::move(links.back());
    links.pop_back();
  }
  pending = nullptr;
}

}  // namespace ronde::inline v0
