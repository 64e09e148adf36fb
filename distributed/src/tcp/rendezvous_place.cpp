#include "tcp/rendezvous_place.h"

#include <fstream>
#include <sstream>

#include <unistd.h>

#include <ronde/core/error.h>
#include <ronde/core/machine.h>
#include <ronde/core/new_file.h>
#include <ronde/distributed/network.h>

namespace ronde::inline v0 {
namespace {

// What follows `prefix`; empty: `text` does not begin with it.
std::string after(const std::string& prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : "";
}

// Where others reach this machine, best first; perhaps nowhere.
std::vector<std::string> outward_hosts(const std::string& iface) {
  std::vector<std::string> hosts;
  for (const std::string& host : local_addresses(iface))
    if (!iface.empty() || (is_private_address(host) && !is_loopback(host))) hosts.push_back(host);
  return hosts;
}

// See Note [Names of this machine].
void listen_for_others(std::vector<Socket>& listeners, const std::string& iface) {
  const Address named = own_address(listeners.front());
  for (const std::string& host : outward_hosts(iface)) {
    if (host == named.host) continue;
    try {
      listeners.push_back(listen_at({host, named.port}));
    } catch (const IoError&) {
      // Somebody else has the port there. Who cannot reach this rank says so.
    }
  }
}

}  // namespace

std::string outward_host(const std::string& iface) {
  const std::vector<std::string> hosts = outward_hosts(iface);
  return hosts.empty() ? "127.0.0.1" : hosts.front();
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

RendezvousPlace::RendezvousPlace(const std::string& rendezvous, const std::string& iface)
    : file_(after("file:", rendezvous)), address_(after("tcp://", rendezvous)), iface_(iface) {
  require<UsageError>(!file_.empty() || !address_.empty(),
                      "[tcp] RONDE_RENDEZVOUS expects tcp://host:port or file:/path, got ",
                      rendezvous.empty() ? "nothing" : rendezvous);
  if (!address_.empty()) parse_address(address_);
}

std::vector<Socket> RendezvousPlace::open(const std::string& token) {
  std::vector<Socket> listeners;
  if (is_file()) {
    listeners.push_back(listen_at({outward_host(iface_), 0}));
    write(cat(own_address(listeners.front()), token.empty() ? "" : " ", token));
    return listeners;
  }
  const Address address = parse_address(address_);
  listeners.push_back(listen_at(address));
  const bool is_for_loopback = address.host == "localhost" || is_numeric(address.host);
  if (!is_for_loopback && is_loopback(own_address(listeners.front()).host))
    listen_for_others(listeners, iface_);
  return listeners;
}

void RendezvousPlace::clear() {
  if (!written_.empty() && text() == written_) unlink(file_.c_str());
  written_.clear();
}

std::string RendezvousPlace::text() const {
  return is_file() ? first_line(file_) : address_;
}

bool RendezvousPlace::parse(const std::string& text, Told& told) const {
  std::istringstream line(text);
  std::string address;
  if (!(line >> address)) return false;
  const std::optional<Address> found = find_address(address);
  if (!found) return false;
  told.address = *found;
  if (is_file()) line >> told.token;
  return true;
}

// Readable for its owner alone, and never half written.
void RendezvousPlace::write(const std::string& text) {
  try {
    NewFile file(file_, 0600);
    file.append(cat(text, '\n'));
    file.publish();
  } catch (const SystemError& error) {
    throw IoError(cat("[tcp] ", error.what()));
  }
  written_ = text;
}

}  // namespace ronde::inline v0
