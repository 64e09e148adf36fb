#include "cuda/captured_step.h"

#include <utility>

#include "cuda/status.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

namespace {

class AsRepetition {
 public:
  AsRepetition(CudaBackend& backend, CudaBackend::Repetition repetition)
      : backend_(backend), before_(backend.repeat(repetition)) {}
  ~AsRepetition() { backend_.repeat(before_); }
  AsRepetition(const AsRepetition&) = delete;
  AsRepetition& operator=(const AsRepetition&) = delete;

 private:
  CudaBackend& backend_;
  CudaBackend::Repetition before_;
};

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
  if (graph_) {
    wait_for(backend_.runtime(), backend_.stream());
    backend_.runtime().destroy_graph(graph_);
  }
  numbers_.reset();
  backend_.allocator().dissolve(pool_);
}

bool CapturedStep::run(const Body& body, const Body& counting) {
  const bool is_new = !graph_;
  numbers_->rewind();
  if (is_new && rehearsals_ == kRehearsals && fallback_.empty()) capture(body, counting);
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
  numbers_->send();
  backend_.rounded_copies().make_true(copies_);
  check(backend_.runtime().replay(graph_, backend_.stream()), "repeating a step");
  backend_.rounded_copies().keep_true(copies_);
  return is_new;
}

void CapturedStep::run_as(Calls calls, const Body& body) {
  const ActivePool active(backend_.allocator(), &pool_);
  const AsRepetition repetition(backend_, {calls, numbers_.get()});
  body();
}

/// Of a part of a step, which nobody must repeat.
void CapturedStep::abandon_capture() {
  Graph part = nullptr;
  backend_.runtime().end_capture(backend_.stream(), &part);
  if (part) backend_.runtime().destroy_graph(part);
}

void CapturedStep::capture(const Body& body, const Body& counting) {
  Runtime& runtime = backend_.runtime();
  backend_.rounded_copies().make_true();
  DoubtUnlessKept doubt(backend_.rounded_copies());
  const Status begun = runtime.begin_capture(backend_.stream());
  if (!begun.ok()) {
    fallback_ = begun.text;
    return;
  }
  bool is_counted = false;
  try {
    run_as(Calls::captured, body);
    is_counted = counting != nullptr;
    if (counting) run_as(Calls::captured, counting);
  } catch (const Error& error) {
    if (is_counted) {
      abandon_capture();
      throw;
    }
    fallback_ = error.what();
  } catch (...) {
    abandon_capture();
    throw;
  }
  const Status ended = runtime.end_capture(backend_.stream(), &graph_);
  // What was counted cannot be taken back, and the device has done nothing of it.
  require(ended.ok() || !is_counted, "[cuda] a step cannot be repeated as a graph: ", ended.text,
          "; RONDE_CUDA_GRAPHS=off gives it to the device kernel by kernel");
  if (!ended.ok() && fallback_.empty()) fallback_ = ended.text;
  if (!fallback_.empty() && graph_) runtime.destroy_graph(std::exchange(graph_, nullptr));
  if (!graph_) return;
  copies_ = backend_.rounded_copies().of_graph();
  doubt.keep();
}

}  // namespace ronde::inline v0::cuda
