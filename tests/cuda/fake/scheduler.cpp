#include "cuda/fake/scheduler.h"

#include <algorithm>
#include <exception>

namespace ronde::test {

namespace {

std::uint64_t at(const Scheduler::Clock& clock, std::size_t stream) {
  return stream < clock.size() ? clock[stream] : 0;
}

void merge(Scheduler::Clock& into, const Scheduler::Clock& other) {
  into.resize(std::max(into.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

bool conflicts(const Access& a, const Access& b) {
  return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::size_t Scheduler::add_stream() {
  streams_.push_back(std::make_unique<Stream>());
  return streams_.size() - 1;
}

std::string Scheduler::give(std::size_t stream, Operation operation) {
  Stream& s = *streams_[stream];
  merge(s.clock, host_);
  if (std::string why = conflict(stream, operation); !why.empty()) return why;
  s.clock.resize(std::max(s.clock.size(), stream + 1));
  s.clock[stream] = ++s.given;
  for (const Access& access : operation.accesses) past_.push_back({access, stream, s.given});
  s.queue.push_back({std::move(operation), std::exchange(s.after, {})});
  return {};
}

std::string Scheduler::conflict(std::size_t stream, const Operation& operation) const {
  const Clock& knows = streams_[stream]->clock;
  for (const Past& past : past_) {
    if (past.stream == stream || at(knows, past.stream) >= past.position) continue;
    for (const Access& access : operation.accesses)
      if (conflicts(access, past.access))
        return "stream " + std::to_string(stream) + " uses memory that operation " +
               std::to_string(past.position) + " of stream " + std::to_string(past.stream) +
               " uses too, and no event says which comes first";
  }
  return {};
}

Scheduler::Mark Scheduler::mark(std::size_t stream) const {
  const Stream& s = *streams_[stream];
  Mark mark{true, stream, s.given, s.clock};
  for (const Mark& after : s.after) merge(mark.clock, after.clock);
  return mark;
}

void Scheduler::wait(std::size_t stream, const Mark& mark) {
  Stream& s = *streams_[stream];
  s.after.push_back(mark);
  merge(s.clock, mark.clock);
}

// What a stream waits for may be behind nothing of its own, so that its position alone says too little.
bool Scheduler::has_passed(const Mark& mark) const {
  for (std::size_t i = 0; i < mark.clock.size(); ++i)
    if (streams_[i]->done < mark.clock[i]) return false;
  return streams_[mark.stream]->done >= mark.position;
}

bool Scheduler::can_run(const Stream& stream) const {
  if (stream.queue.empty() || stream.queue.front().operation.hangs) return false;
  const std::vector<Mark>& after = stream.queue.front().after;
  const auto& is_ready = stream.queue.front().operation.is_ready;
  return std::all_of(after.begin(), after.end(), [&](const Mark& mark) { return has_passed(mark); }) &&
         (!is_ready || is_ready());
}

bool Scheduler::run_one() {
  std::vector<Stream*> ready;
  for (const auto& stream : streams_)
    if (can_run(*stream)) ready.push_back(stream.get());
  if (ready.empty()) return false;
  Stream& chosen = *ready[random_() % ready.size()];
  Operation& operation = chosen.queue.front().operation;
  if (operation.delay-- > 0) return true;
  try {
    if (failure_.empty()) operation.run();
  } catch (const DeviceLost& error) {
    failure_ = error.what();
  } catch (const std::exception& error) {
    if (complaint_.empty()) complaint_ = error.what();
  }
  chosen.queue.pop_front();
  ++chosen.done;
  return true;
}

void Scheduler::nudge() {
  for (std::uint64_t runs = 1 + random_() % 16; runs > 0 && run_one(); --runs) {
  }
}

bool Scheduler::ask(const Mark& mark) {
  nudge();
  if (!has_passed(mark)) return false;
  merge(host_, mark.clock);
  std::erase_if(past_, [&](const Past& past) { return past.position <= at(host_, past.stream); });
  return true;
}

bool Scheduler::may_be_used(const Access& memory) const {
  return std::any_of(past_.begin(), past_.end(), [&](const Past& past) {
    return past.access.begin < memory.end && memory.begin < past.access.end;
  });
}

}  // namespace ronde::test
