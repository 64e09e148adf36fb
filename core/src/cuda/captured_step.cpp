#include "cuda/captured_step.h"

#include <utility>

#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

namespace {

/// A capture that ends without a graph leaves copies of weights behind that nobody has made.
class DoubtUnlessKept {
 public:
  explicit DoubtUnlessKept(RoundedCopies& copies) : copies_(copies) {}
  ~DoubtUnlessKept() {
    if (!is_kept_) copies_.doubt();
  }
  DoubtUnlessKept(const DoubtUnlessKept&) = delete;
  DoubtUnlessKept& operator=(const DoubtUnlessKept&) = delete;
  void keep() { is_kept_ = true; }

 private:
  RoundedCopies& copies_;
  bool is_kept_ = false;
};

}  // namespace

CapturedStep::~CapturedStep() {
  const Turn turn(backend_.turns());
  if (graph_) {
    wait_for(backend_.runtime(), backend_.stream());
    drop_graph();
  }
  backend_.side_streams().give_back(std::move(side_));
  numbers_.reset();
  backend_.allocator().dissolve(pool_);
}

bool CapturedStep::run(const Body& body, const Body& counting, const AroundCapture& around) {
  const bool is_new = !graph_;
  numbers_->rewind();
  if (is_new && rehearsals_ == kRehearsals && fallback_.empty()) capture(body, counting, around);
  if (!graph_) {
    numbers_->rewind();
    run_as(Calls::launched, [&] {
      body();
      if (counting) counting();
    });
    if (rehearsals_ < kRehearsals) ++rehearsals_;
    return true;
  }
  if (!is_new && counting) run_as(Calls::left_out, counting);
  const Turn turn(backend_.turns());
  numbers_->send();
  backend_.rounded_copies().make_true(copies_);
  check(backend_.runtime().replay(graph_, backend_.stream()), "repeating a step");
  backend_.rounded_copies().keep_true(copies_);
  return is_new;
}

void CapturedStep::run_as(Calls calls, const Body& body) {
  const ActivePool active(backend_.allocator(), &pool_);
  const CudaBackend::Repetition repetition{calls, *numbers_, *side_};
  const InThread own(&backend_, InThread::Kind::repetition, &repetition);
  body();
  const Turn turn(backend_.turns());
  side_->join();
}

void CapturedStep::make_copies_true() {
  const Turn turn(backend_.turns());
  backend_.rounded_copies().make_true();
}

void CapturedStep::drop_graph() {
  if (graph_) backend_.runtime().destroy_graph(std::exchange(graph_, nullptr));
}

void CapturedStep::capture(const Body& body, const Body& counting, const AroundCapture& around) {
  if (around.before) around.before();
  make_copies_true();
  DoubtUnlessKept doubt(backend_.rounded_copies());
  bool is_counted = false;
  fallback_ = record(body, counting, is_counted);
  if (around.agree) fallback_ = around.agree(fallback_);
  if (fallback_.empty()) {
    copies_ = backend_.rounded_copies().of_graph();
    return doubt.keep();
  }
  drop_graph();
  if (!is_counted) return;
  // The device has done nothing of what was counted.
  require(around.undo != nullptr, "[cuda] a step cannot be repeated as a graph: ", fallback_,
          "; RONDE_CUDA_GRAPHS=off gives it to the device kernel by kernel");
  around.undo();
}

std::string CapturedStep::record(const Body& body, const Body& counting, bool& is_counted) {
  const CaptureTurn turn(backend_.turns());
  Runtime& runtime = backend_.runtime();
  const Status begun = runtime.begin_capture(backend_.stream());
  if (!begun.ok()) return begun.text;
  std::string why;
  try {
    run_as(Calls::captured, body);
    is_counted = counting != nullptr;
    if (counting) run_as(Calls::captured, counting);
  } catch (const Error& error) {
    why = error.what();
  } catch (...) {
    // Of a part of a step, which nobody must repeat.
    runtime.end_capture(backend_.stream(), &graph_);
    side_->join();
    drop_graph();
    throw;
  }
  const Status ended = runtime.end_capture(backend_.stream(), &graph_);
  side_->join();  // of a body that was broken off
  return ended.ok() || !why.empty() ? why : ended.text;
}

}  // namespace ronde::inline v0::cuda
