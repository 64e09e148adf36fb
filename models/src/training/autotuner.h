/// Autotuner: finds out whether some way to do a thing is faster than the default, by doing it both ways in
/// turn.
///
///     Autotuner tuner(3);                                     // ways 0, the default, to 2
///     while (!tuner.is_done()) tuner.add(seconds_in(tuner.way()));
///     use(tuner.way());
///
/// Never slower: two ways are compared in rounds, each way once a round. A challenger wins only when it is
/// faster by 2 % in each of four rounds in a row; the first that it loses ends the comparison, so what is
/// slow is not tried for long. Who wins in the end must win once more, against the default, in eight rounds.
/// So chance would have to favour a slower way twelve times in a row.
#pragma once

namespace ronde::inline v0 {

class Autotuner {
 public:
  explicit Autotuner(int ways) : ways_(ways) { next_challenger(); }

  /// To do it next; when done, for good.
  int way() const { return is_done_ || is_champions_turn() ? champion_ : challenger_; }
  bool is_done() const { return is_done_; }
  /// How long `way()` took. Whoever feeds several of these alike gets the same choice from all.
  void add(double seconds);

 private:
  bool is_champions_turn() const;
  void end_round();
  void begin_duel(int champion, int challenger, int rounds);
  void next_challenger();

  int ways_;
  int champion_ = 0, challenger_ = 0;
  int tried_ = 0;               // the last way that was tried
  int round_ = 0, rounds_ = 0;  // of this duel
  int turn_ = 0;                // within the round: 0 or 1
  double champions_seconds_ = 0.0, challengers_seconds_ = 0.0;
  bool is_last_duel_ = false;
  bool is_done_ = false;
};

}  // namespace ronde::inline v0
