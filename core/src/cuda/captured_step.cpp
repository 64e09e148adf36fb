#include "cuda/captured_step.h"

#include <utility>

#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

namespace {

class ActivePool {
 public:
  ActivePool(DeviceAllocator& allocator, DeviceAllocator::Pool& pool)
      : allocator_(allocator), before_(allocator.activate(&pool)) {}
  ~ActivePool() { allocator_.activate(before_); }
  ActivePool(const ActivePool&) = delete;
  ActivePool& operator=(const ActivePool&) = delete;

 private:
  DeviceAllocator& allocator_;
  DeviceAllocator::Pool* before_;
};

}  // namespace

CapturedStep::~CapturedStep() {
  if (graph_) {
    wait_for(backend_.runtime(), backend_.stream());
    backend_.runtime().destroy_graph(graph_);
  }
  backend_.allocator().dissolve(pool_);
}

bool CapturedStep::run(const std::function<void()>& body) {
  const bool is_new = !graph_;
  if (is_new && rehearsals_ == kRehearsals && fallback_.empty()) capture(body);
  if (graph_) {
    check(backend_.runtime().replay(graph_, backend_.stream()), "repeating a step");
    return is_new;
  }
  run_with_own_memory(body);
  if (rehearsals_ < kRehearsals) ++rehearsals_;
  return true;
}

void CapturedStep::run_with_own_memory(const std::function<void()>& body) {
  const ActivePool active(backend_.allocator(), pool_);
  body();
}

void CapturedStep::capture(const std::function<void()>& body) {
  Runtime& runtime = backend_.runtime();
  const Status begun = runtime.begin_capture(backend_.stream());
  if (!begun.ok()) {
    fallback_ = begun.text;
    return;
  }
  try {
    run_with_own_memory(body);
  } catch (const Error& error) {
    fallback_ = error.what();
  } catch (...) {
    runtime.end_capture(backend_.stream(), &graph_);
    throw;
  }
  const Status ended = runtime.end_capture(backend_.stream(), &graph_);
  if (!ended.ok() && fallback_.empty()) fallback_ = ended.text;
  if (!fallback_.empty() && graph_) runtime.destroy_graph(std::exchange(graph_, nullptr));
}

}  // namespace ronde::inline v0::cuda
