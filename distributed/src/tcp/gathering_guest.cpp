#include <algorithm>
#include <thread>

#include "tcp/gathering.h"
#include "tcp/greeting.h"
#include "tcp/rendezvous_place.h"

namespace ronde::inline v0 {
namespace {

constexpr double kConnectPatience = 5.0;  // for one attempt: of a machine that is gone nothing comes
constexpr std::chrono::milliseconds kRetry{100};

class GatheringGuest {
 public:
  explicit GatheringGuest(const TcpOptions& options)
      : options_(options), place_(options.rendezvous, options.iface), deadline_(options.patience) {}

  Gathering gather() {
    Answer answer;
    // A file may be left over from another job: then nobody answers there, and rank 0 writes it anew.
    while (!try_greeting(answer)) {
      require(!deadline_.is_over(), "[tcp] rank ", options_.rank, " waited ", options_.patience,
              " s for rank 0 at ", options_.rendezvous, " in vain", problem_.empty() ? "" : ": ", problem_);
      std::this_thread::sleep_for(kRetry);
    }
    Gathering result;
    result.listener = listen_at({listening_host(answer), 0});
    const Deadline soon(options_.patience);
    std::string table;
    const bool is_told =
        send_text(link_, cat(own_address(result.listener)), soon) && receive_text(link_, table, soon);
    require(is_told, "[tcp] rank 0 left while the ranks gathered");
    heed(Answer::unpack(table));
    result.table = RankTable::unpack(table);
    return result;
  }

 private:
  bool try_greeting(Answer& answer) {
    const std::string text = place_.text();
    RendezvousPlace::Told told;
    if (!place_.parse(text, told) || !connect(told.address)) return false;
    const std::string token = options_.token.empty() ? told.token : options_.token;
    const Hello hello{token_word(token), options_.rank, options_.size, host_id()};
    std::string packed;
    if (!send_text(link_, hello.text(), deadline_) || !hears_something(text) ||
        !receive_text(link_, packed, Deadline(kMessagePatience))) {
      problem_ = options_.token.empty() || told.token.empty()
                     ? cat("who listens at ", told.address, " does not answer")
                     : std::string("rank 0 has no RONDE_TOKEN, but this rank has");
      return false;
    }
    answer = Answer::unpack(packed);
    heed(answer);
    return answer.kind == Answer::Kind::loopback || answer.kind == Answer::Kind::network;
  }

  bool connect(const Address& address) {
    const Deadline soon(std::min(kConnectPatience, deadline_.left() / 1000.0));
    try {
      link_ = connect_to(address, soon, problem_);
    } catch (const IoError& error) {
      problem_ = error.what();  // a name that is not known yet, perhaps
      return false;
    }
    return link_.is_open();
  }

  // Rank 0 waits for the last rank as long as it likes; its answer comes then. Until the place says something
  // else: then it was not rank 0.
  bool hears_something(const std::string& text) const {
    const Deadline answered(deadline_.left() / 1000.0 + options_.patience + kMessagePatience);
    const double look = std::chrono::duration<double>(kRetry).count();
    while (!wait_for_input(link_, Deadline(look))) {
      const std::string now = place_.text();
      if (answered.is_over() || (now != text && !now.empty())) return false;
    }
    return true;
  }

  // On rank 0's machine, where the two talk by loopback perhaps, others come to where they come to rank 0.
  std::string listening_host(const Answer& answer) const {
    if (answer.kind == Answer::Kind::loopback) return "127.0.0.1";
    const std::string own = own_address(link_).host;
    return is_loopback(own) ? answer.text : own;
  }

  // What concerns all ranks, rank 0 reports.
  void heed(const Answer& answer) const {
    if (answer.kind == Answer::Kind::refused) throw CollectiveError(answer.text, ExitStatus::failure, 0);
    require(answer.kind != Answer::Kind::wrong_token, "[tcp] RONDE_TOKEN is not that of rank 0 at ",
            options_.rendezvous, options_.token.empty() ? ": here it is not set" : "");
  }

  const TcpOptions& options_;
  RendezvousPlace place_;
  Deadline deadline_;
  Socket link_;
  std::string problem_;  // of the last attempt
};

}  // namespace

Gathering gather_as_guest(const TcpOptions& options) {
  return GatheringGuest(options).gather();
}

}  // namespace ronde::inline v0
