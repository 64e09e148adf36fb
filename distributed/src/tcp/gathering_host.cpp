#include <algorithm>

#include <ronde/core/counted.h>

#include "tcp/gathering.h"
#include "tcp/greeting.h"
#include "tcp/rendezvous_place.h"
#include "transport/ranks_text.h"

namespace ronde::inline v0 {
namespace {

class GatheringHost {
 public:
  explicit GatheringHost(const TcpOptions& options)
      : options_(options), place_(options.rendezvous, options.iface), deadline_(options.patience) {
    links_.resize(static_cast<std::size_t>(options.size));
    table_.token = random_token();
    table_.addresses.resize(links_.size());
    table_.hosts.resize(links_.size());
    table_.hosts[0] = host_id();
  }

  Gathering gather() {
    is_told_by_file_ = place_.is_file() && options_.token.empty();
    const std::string token = is_told_by_file_ ? table_.token : options_.token;
    token_ = token_word(token);
    const std::vector<Socket> listeners = place_.open(is_told_by_file_ ? token : "");
    Callers callers(listeners);
    for (int come = 1; come < options_.size;) come += admit(callers) ? 1 : 0;
    place_.clear();
    Gathering result;
    result.listener = start_network();
    table_.addresses[0] = own_address(result.listener);
    for (std::size_t r = 1; r < links_.size(); ++r) {
      std::string address;
      if (!receive_text(links_[r], address, Deadline(kMessagePatience)))
        fail(cat("[tcp] rank ", r, " left while the ranks gathered"));
      table_.addresses[r] = parse_address(address);
    }
    tell_all(table_.pack());
    result.table = table_;
    return result;
  }

 private:
  // Whether one more rank has come.
  bool admit(Callers& callers) {
    Socket link = callers.next(deadline_);
    if (!link.is_open()) fail(cat("[tcp] ", who_is_missing()));
    std::string text;
    Hello hello;
    if (!receive_text(link, text, Deadline(kMessagePatience)) || !Hello::parse(text, hello)) return false;
    if (hello.token != token_) {
      refuse_token(link);
      return false;
    }
    if (hello.size != options_.size)
      fail(cat("[tcp] ranks have different world sizes: rank 0 ", options_.size, ", rank ", hello.rank, ' ',
               hello.size),
           link);
    const auto r = static_cast<std::size_t>(hello.rank);
    const bool is_one = hello.rank >= 1 && hello.rank < options_.size;
    if (!is_one || (links_[r].is_open() && !has_ended(links_[r])))
      fail(cat("[tcp] more than one process has rank ", hello.rank, " of ", options_.size), link);
    const bool is_new = !links_[r].is_open();  // else it died, and was started again
    links_[r] = std::move(link);
    table_.hosts[r] = hello.host;
    return is_new;
  }

  // Who has read an old file will read the new one.
  void refuse_token(const Socket& link) {
    if (is_told_by_file_) return;
    send_text(link, Answer{Answer::Kind::wrong_token}.pack(), Deadline(kMessagePatience));
    ++refused_;
  }

  std::string who_is_missing() const {
    const std::string missing =
        cat(ranks_text(missing_ranks(links_, 0)), " of ", options_.size, " did not come to ",
            options_.rendezvous, " within ", options_.patience, " s");
    return refused_ == 0 ? missing
                         : cat(missing, "; ", counted(refused_, "caller"), refused_ == 1 ? " was" : " were",
                               " refused, with another RONDE_TOKEN");
  }

  // All have come: says where they are to listen, and listens there itself.
  Socket start_network() {
    const auto& hosts = table_.hosts;
    const auto other =
        std::find_if(hosts.begin(), hosts.end(), [&](const std::string& host) { return host != hosts[0]; });
    if (other == hosts.end()) {
      tell_all(Answer{Answer::Kind::loopback}.pack());
      return listen_at({"127.0.0.1", 0});
    }
    const std::string host = own_address(links_[static_cast<std::size_t>(other - hosts.begin())]).host;
    tell_all(Answer{Answer::Kind::network, host}.pack());
    return listen_at({host, 0});
  }

  void tell_all(const std::string& text) {
    for (const Socket& link : links_)
      if (link.is_open()) send_text(link, text, Deadline(kMessagePatience));
  }

  [[noreturn]] void fail(const std::string& message, const Socket& also = {}) {
    const std::string refusal = Answer{Answer::Kind::refused, message}.pack();
    if (also.is_open()) send_text(also, refusal, Deadline(kMessagePatience));
    tell_all(refusal);
    throw CollectiveError(message, ExitStatus::failure, 0);
  }

  const TcpOptions& options_;
  RendezvousPlace place_;
  Deadline deadline_;
  bool is_told_by_file_ = false;
  std::string token_;
  int refused_ = 0;
  std::vector<Socket> links_;
  RankTable table_;
};

}  // namespace

Gathering gather_as_host(const TcpOptions& options) {
  return GatheringHost(options).gather();
}

}  // namespace ronde::inline v0
