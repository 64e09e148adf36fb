/// RunClock: what a run spends its time on.
///
///     RunClock clock;
///     clock.measure("data", [&] { ... });
///     model.fit(train, {.callbacks = {&clock}});    // measures validation
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <ronde/models/callback.h>

#include "report/html_report.h"

namespace ronde::apps {

class RunClock : public Callback {
 public:
  /// Adds to that part.
  void add(const std::string& what, double seconds);
  /// Of the total.
  void leave_out(double seconds) {
    begin_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  template <class F>
  void measure(const std::string& what, F&& f) {
    const Clock::time_point begin = Clock::now();
    f();
    add(what, since(begin));
  }

  void on_test_begin() override { test_begin_ = Clock::now(); }
  void on_test_end(const Logs&) override { add("evaluation", since(test_begin_)); }

  /// In the order in which the parts were met first.
  const std::vector<TimeShare>& shares() const { return shares_; }
  /// Since this clock was made.
  double total_seconds() const { return since(begin_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Clock::time_point begin_ = Clock::now(), test_begin_;
  std::vector<TimeShare> shares_;
};

}  // namespace ronde::apps
