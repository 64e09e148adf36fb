/// Where rank 0 is found: an address, or a file that is there while rank 0 gathers the others, and no longer.
///
/// Note [Names of this machine]: on Debian a machine's own name means 127.0.1.1 there, and its address in the
/// network everywhere else. So where a name means loopback to rank 0, it listens at its addresses for others
/// too, at the same port.
#pragma once

#include <string>
#include <vector>

#include "tcp/socket.h"

namespace ronde::inline v0 {

class RendezvousPlace {
 public:
  /// What a place says of rank 0.
  struct Told {
    Address address;
    std::string token;  ///< of a file; empty: rank 0 has its own from the environment
  };

  /// "tcp://host:port" or "file:/path"; a UsageError for anything else. `iface`: as in TcpOptions.
  RendezvousPlace(const std::string& rendezvous, const std::string& iface);
  ~RendezvousPlace() { clear(); }
  RendezvousPlace(const RendezvousPlace&) = delete;
  RendezvousPlace& operator=(const RendezvousPlace&) = delete;

  bool is_file() const { return !file_.empty(); }
  /// For rank 0: sockets that listen. A file tells `token`, and is there only when somebody listens.
  std::vector<Socket> open(const std::string& token);
  /// When all ranks have come. By now the file may be another job's.
  void clear();

  /// For the others: what the place says now; empty while rank 0 has not come.
  std::string text() const;
  /// Whether a text says where rank 0 is; one that was left over may say anything.
  bool parse(const std::string& text, Told& told) const;

 private:
  void write(const std::string& text);

  std::string file_;
  std::string address_;
  std::string iface_;
  std::string written_;  // by this process, into the file that is there
};

/// Of this machine, for others: never a public address, unless `iface` says so; loopback when it has no
/// network.
std::string outward_host(const std::string& iface);

/// "127.0.1.1", "::1"
bool is_loopback(const std::string& host);

}  // namespace ronde::inline v0
