#include "tcp/rendezvous.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <ronde/core/counted.h>
#include <ronde/core/new_file.h>
#include <ronde/distributed/network.h>

#include "meeting.h"

namespace ronde::inline v0 {
namespace {

// Seconds for one message of a rank that is there, so that a stranger who begins one does not hold up the
// others for long, and for an answer that is on its way.
constexpr double kMessagePatience = 5.0;
constexpr double kConnectPatience = 5.0;  // for one attempt: of a machine that is gone nothing comes
constexpr std::chrono::milliseconds kRetry{100};
constexpr const char* kGreeting = "ronde-1";
constexpr const char* kNobody = "-";  // a token in words that must not be empty

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Equal on ranks that reach each other by loopback.
std::string host_id() {
  char name[256] = "";
  char network[64] = "";
  gethostname(name, sizeof name - 1);
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = '\0';
  std::string id = cat(name, '/', first_line("/proc/sys/kernel/random/boot_id"), '/', network);
  std::replace(id.begin(), id.end(), ' ', '_');
  return id;
}

// Of this machine, for others: never a public address, unless `iface` says so; loopback when it has no
// network.
std::string outward_host(const std::string& iface) {
  const std::vector<std::string> addresses = local_addresses(iface);
  if (!iface.empty()) return addresses.front();
  const auto found = std::find_if(addresses.begin(), addresses.end(), is_private_address);
  return found == addresses.end() ? "127.0.0.1" : *found;
}

std::string after(const std::string& prefix, const std::string& text) {
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : "";
}

// Where rank 0 is found. A file is there while rank 0 gathers the others, and no longer.
class RendezvousPlace {
 public:
  RendezvousPlace(const std::string& rendezvous, const std::string& iface)
      : file_(after("file:", rendezvous)), address_(after("tcp://", rendezvous)), iface_(iface) {
    require<UsageError>(!file_.empty() || !address_.empty(),
                        "[tcp] RONDE_RENDEZVOUS expects tcp://host:port or file:/path, got ",
                        rendezvous.empty() ? "nothing" : rendezvous);
    if (!address_.empty()) parse_address(address_);
  }
  ~RendezvousPlace() { clear(); }
  RendezvousPlace(const RendezvousPlace&) = delete;
  RendezvousPlace& operator=(const RendezvousPlace&) = delete;

  // For rank 0. `token` is what the file tells; it is there only when somebody listens.
  Socket open(const std::string& token) {
    if (!address_.empty()) return listen_at(parse_address(address_));
    Socket listener = listen_at({outward_host(iface_), 0});
    write(cat(own_address(listener), ' ', token));
    return listener;
  }

  // When all ranks have come. By now it may be another job's.
  void clear() {
    if (!written_.empty() && told() == written_) unlink(file_.c_str());
    written_.clear();
  }

  // For the others: what the place says now; empty while rank 0 has not come.
  std::string told() const { return is_file() ? first_line(file_.c_str()) : address_; }

  // What it said. A file also tells the token.
  bool parse(const std::string& told, Address& address, std::string& token) const {
    std::istringstream line(told);
    std::string text;
    if (!(line >> text) || (is_file() && !(line >> token))) return false;
    address = parse_address(text);
    return true;
  }

  bool is_file() const { return !file_.empty(); }

 private:
  // Readable for its owner alone, and never half written.
  void write(const std::string& text) {
    try {
      NewFile file(file_, 0600);
      file.append(cat(text, '\n'));
      file.publish();
    } catch (const SystemError& error) {
      throw IoError(cat("[tcp] ", error.what()));
    }
    written_ = text;
  }

  std::string file_;
  std::string address_;
  std::string iface_;
  std::string written_;  // by this process, into the file that is there
};

struct Hello {
  std::string token;
  int rank = -1;
  int size = 0;
  std::string host;

  std::string text() const { return cat(kGreeting, ' ', token, ' ', rank, ' ', size, ' ', host); }
};

bool parse(const std::string& text, Hello& hello) {
  std::istringstream words(text);
  std::string greeting;
  return static_cast<bool>(words >> greeting >> hello.token >> hello.rank >> hello.size >> hello.host) &&
         greeting == kGreeting;
}

std::vector<int> missing_ranks(const std::vector<Socket>& links, int rank) {
  std::vector<int> missing;
  for (int r = 0; r < static_cast<int>(links.size()); ++r) {
    if (r != rank && !links[static_cast<std::size_t>(r)].is_open()) missing.push_back(r);
  }
  return missing;
}

// The address at which this rank listens for the others. `link` is its connection with rank 0, or one of
// rank 0's.
Socket listen_near(const Socket& link, bool is_one_machine) {
  return listen_at({is_one_machine ? "127.0.0.1" : own_address(link).host, 0});
}

// Rank 0's part.
class Host {
 public:
  explicit Host(const TcpOptions& options)
      : options_(options), place_(options.rendezvous, options.iface), deadline_(options.patience) {
    links_.resize(static_cast<std::size_t>(options.size));
    hosts_.resize(links_.size());
    hosts_[0] = host_id();
  }

  Gathering gather() {
    Gathering result;
    result.token = random_token();
    is_told_by_file_ = place_.is_file() && options_.token.empty();
    token_ = is_told_by_file_ ? result.token : options_.token;
    const Socket listener = place_.open(is_told_by_file_ ? token_ : kNobody);
    Callers callers(listener);
    for (int come = 1; come < options_.size;) come += admit(callers) ? 1 : 0;
    place_.clear();
    const bool is_one_machine =
        std::all_of(hosts_.begin(), hosts_.end(), [&](const std::string& host) { return host == hosts_[0]; });
    tell_all(is_one_machine ? "go loopback" : "go network");
    result.listener = listen_near(links_[1], is_one_machine);
    std::string table = cat(result.token, '\n', own_address(result.listener), ' ', hosts_[0], '\n');
    for (std::size_t r = 1; r < links_.size(); ++r) {
      std::string address;
      if (!receive_text(links_[r], address, Deadline(kMessagePatience)))
        fail(cat("[tcp] rank ", r, " left while the ranks gathered"));
      table += cat(address, ' ', hosts_[r], '\n');
    }
    tell_all(table);
    read_table(table, result);
    return result;
  }

  static void read_table(const std::string& table, Gathering& result) {
    std::istringstream words(table);
    words >> result.token;
    std::string address, host;
    while (words >> address >> host) {
      result.addresses.push_back(parse_address(address));
      result.hosts.push_back(host);
    }
  }

 private:
  // Whether one more rank has come.
  bool admit(Callers& callers) {
    Socket link = callers.next(deadline_);
    if (!link.is_open()) {
      fail(cat("[tcp] ", ranks_text(missing_ranks(links_, 0)), " of ", options_.size, " did not come to ",
               options_.rendezvous, " within ", options_.patience, " s"));
    }
    std::string text;
    Hello hello;
    const Deadline soon(kMessagePatience);
    if (!receive_text(link, text, soon) || !parse(text, hello)) return false;
    if (hello.token != (token_.empty() ? kNobody : token_)) {
      // Who has read an old file will read the new one.
      if (!is_told_by_file_) send_text(link, "no [tcp] RONDE_TOKEN is not that of rank 0", soon);
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
    hosts_[r] = hello.host;
    return is_new;
  }

  void tell_all(const std::string& text) {
    for (const Socket& link : links_) {
      if (link.is_open()) send_text(link, text, Deadline(kMessagePatience));
    }
  }

  [[noreturn]] void fail(const std::string& message, const Socket& also = {}) {
    if (also.is_open()) send_text(also, cat("no ", message), Deadline(kMessagePatience));
    tell_all(cat("no ", message));
    throw CollectiveError(message, ExitStatus::failure, 0);
  }

  const TcpOptions& options_;
  RendezvousPlace place_;
  Deadline deadline_;
  bool is_told_by_file_ = false;
  std::string token_;
  std::vector<Socket> links_;
  std::vector<std::string> hosts_;
};

// The part of the other ranks.
class Guest {
 public:
  explicit Guest(const TcpOptions& options)
      : options_(options), place_(options.rendezvous, options.iface), deadline_(options.patience) {}

  Gathering gather() {
    std::string answer;
    // A file may be left over from another job: then nobody answers there, and rank 0 writes it anew.
    while (!try_greeting(answer)) {
      require(!deadline_.is_over(), "[tcp] rank ", options_.rank, " waited ", options_.patience,
              " s for rank 0 at ", options_.rendezvous, " in vain", last_error_);
      std::this_thread::sleep_for(kRetry);
    }
    Gathering result;
    result.listener = listen_near(link_, answer == "go loopback");
    const Deadline soon(options_.patience);
    std::string table;
    const bool is_told =
        send_text(link_, cat(own_address(result.listener)), soon) && receive_text(link_, table, soon);
    require(is_told, "[tcp] rank 0 left while the ranks gathered");
    refuse(table);
    Host::read_table(table, result);
    return result;
  }

 private:
  bool try_greeting(std::string& answer) {
    Address address;
    std::string token;
    const std::string told = place_.told();
    if (!place_.parse(told, address, token)) return false;
    if (!options_.token.empty()) token = options_.token;
    try {
      link_ = connect_to(address, Deadline(std::min(kConnectPatience, deadline_.left() / 1000.0)));
    } catch (const IoError& error) {
      last_error_ = cat(": ", error.what());  // a name that is not known yet, perhaps
      return false;
    }
    if (!link_.is_open()) return false;
    const Hello hello{token.empty() ? kNobody : token, options_.rank, options_.size, host_id()};
    if (!send_text(link_, hello.text(), deadline_) || !hears_something(told) ||
        !receive_text(link_, answer, Deadline(kMessagePatience)))
      return false;
    refuse(answer);
    return answer == "go loopback" || answer == "go network";
  }

  // Rank 0 waits for the last rank as long as it likes; its answer comes then. Until the place says something
  // else: then it was not rank 0.
  bool hears_something(const std::string& told) const {
    const Deadline answered(deadline_.left() / 1000.0 + options_.patience + kMessagePatience);
    const double look = std::chrono::duration<double>(kRetry).count();
    while (!wait_for_input(link_, Deadline(look))) {
      const std::string now = place_.told();
      if (answered.is_over() || (now != told && !now.empty())) return false;
    }
    return true;
  }

  static void refuse(const std::string& answer) {
    const std::string reason = after("no ", answer);
    if (!reason.empty()) throw CollectiveError(reason, ExitStatus::failure, 0);
  }

  const TcpOptions& options_;
  RendezvousPlace place_;
  Deadline deadline_;
  Socket link_;
  std::string last_error_;
};

}  // namespace

std::string random_token() {
  unsigned char bytes[16];
  require(getrandom(bytes, sizeof bytes, 0) == sizeof bytes, "[tcp] the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

Gathering gather_ranks(const TcpOptions& options) {
  require<UsageError>(options.size >= 1 && options.rank >= 0 && options.rank < options.size, "[tcp] rank ",
                      options.rank, " is not one of ", counted(options.size, "rank"));
  if (options.rank == 0) return Host(options).gather();
  return Guest(options).gather();
}

std::vector<Socket> connect_all(const Gathering& gathering, int rank, const Deadline& deadline) {
  const int size = static_cast<int>(gathering.addresses.size());
  std::vector<Socket> links(gathering.addresses.size());
  for (int r = 0; r < rank; ++r) {
    Socket& link = links[static_cast<std::size_t>(r)];
    link = connect_to(gathering.addresses[static_cast<std::size_t>(r)], deadline);
    if (link.is_open() && !send_text(link, cat(gathering.token, ' ', rank), deadline)) link.close();
  }
  Callers callers(gathering.listener);
  for (int missing = size - 1 - rank; missing > 0;) {
    Socket link = callers.next(deadline);
    if (!link.is_open()) break;
    std::string text;
    if (!receive_text(link, text, Deadline(kMessagePatience))) continue;
    std::istringstream words(text);
    std::string token;
    int peer = -1;
    if (!(words >> token >> peer) || token != gathering.token || peer <= rank || peer >= size) continue;
    links[static_cast<std::size_t>(peer)] = std::move(link);
    --missing;
  }
  const std::vector<int> missing = missing_ranks(links, rank);
  require(missing.empty(), "[tcp] rank ", rank, " has no connection with ", ranks_text(missing));
  return links;
}

}  // namespace ronde::inline v0
