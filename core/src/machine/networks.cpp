#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <ronde/core/machine.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

struct FreeAddresses {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

std::string address_text(const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return "";
  const auto length =
      static_cast<socklen_t>(address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  char text[NI_MAXHOST];
  return getnameinfo(address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

// Megabits per second; -1 or no file where the hardware does not say.
double bits_per_second(const std::string& name) {
  const double megabits = std::atof(first_line(cat("/sys/class/net/", name, "/speed")).c_str());
  return megabits > 0.0 ? megabits * 1e6 : 0.0;
}

NetworkInterface& by_name(std::vector<NetworkInterface>& networks, const ifaddrs& entry) {
  const auto found = std::find_if(networks.begin(), networks.end(),
                                  [&](const NetworkInterface& n) { return n.name == entry.ifa_name; });
  if (found != networks.end()) return *found;
  return networks.emplace_back(
      NetworkInterface{.name = entry.ifa_name,
                       .addresses = {},
                       .is_enabled = (entry.ifa_flags & IFF_UP) != 0,
                       .is_up = (entry.ifa_flags & IFF_UP) != 0 && (entry.ifa_flags & IFF_RUNNING) != 0,
                       .is_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0,
                       .bits_per_second = bits_per_second(entry.ifa_name)});
}

}  // namespace

std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> networks;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return networks;
  const std::unique_ptr<ifaddrs, FreeAddresses> owner(list);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    NetworkInterface& network = by_name(networks, *entry);
    if (std::string text = address_text(entry->ifa_addr); !text.empty())
      network.addresses.push_back(std::move(text));
  }
  return networks;
}

}  // namespace ronde::inline v0
