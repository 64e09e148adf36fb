#include "training/autotuner.h"

namespace ronde::inline v0 {
namespace {

constexpr int kRounds = 4, kLastRounds = 8;
constexpr double kFaster = 0.98;

}  // namespace

/// Who begins changes with each round: a machine may become slower all the time.
bool Autotuner::is_champions_turn() const {
  return (turn_ + round_) % 2 == 0;
}

void Autotuner::add(double seconds) {
  if (is_done_) return;
  (is_champions_turn() ? champions_seconds_ : challengers_seconds_) = seconds;
  if (++turn_ == 2) end_round();
}

void Autotuner::end_round() {
  const bool has_won_round = challengers_seconds_ < kFaster * champions_seconds_;
  turn_ = 0;
  ++round_;
  if (has_won_round && round_ < rounds_) return;
  if (is_last_duel_) {
    champion_ = has_won_round ? challenger_ : champion_;
    is_done_ = true;
    return;
  }
  if (has_won_round) champion_ = challenger_;
  next_challenger();
}

void Autotuner::begin_duel(int champion, int challenger, int rounds) {
  champion_ = champion;
  challenger_ = challenger;
  rounds_ = rounds;
  round_ = turn_ = 0;
}

void Autotuner::next_challenger() {
  if (++tried_ < ways_) return begin_duel(champion_, tried_, kRounds);
  is_done_ = champion_ == 0;
  if (is_done_) return;
  is_last_duel_ = true;
  begin_duel(0, champion_, kLastRounds);
}

}  // namespace ronde::inline v0
