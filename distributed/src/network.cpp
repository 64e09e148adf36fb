#include <ronde/distributed/network.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <ronde/core/error.h>

namespace ronde::inline v0 {
namespace {

// IPv4 as the last four bytes of the IPv6 addresses that stand for it, so that one rule serves both.
using Bytes = std::array<std::uint8_t, 16>;
constexpr int kMapped = 96;  // bits before those of an IPv4 address

std::optional<Bytes> parse_bytes(const std::string& address) {
  Bytes bytes{};
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
  bytes[10] = bytes[11] = 0xff;
  if (inet_pton(AF_INET, address.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

struct Network {
  Bytes bytes;
  int bits;

  bool contains(const Bytes& address) const {
    for (int bit = 0; bit < bits; ++bit) {
      const auto byte = static_cast<std::size_t>(bit / 8);
      if (((bytes[byte] ^ address[byte]) >> (7 - bit % 8)) & 1) return false;
    }
    return true;
  }
};

std::optional<Network> parse_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<Bytes> bytes = parse_bytes(text.substr(0, slash));
  if (!bytes) return std::nullopt;
  const int offset = text.find(':') == std::string::npos ? kMapped : 0;
  int bits = 128 - offset;
  if (slash == std::string::npos) return Network{*bytes, 128};
  const auto parsed = std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
  if (parsed.ptr != text.data() + text.size() || bits < 0 || bits > 128 - offset) return std::nullopt;
  return Network{*bytes, offset + bits};
}

struct LocalAddress {
  std::string interface;
  std::string address;
  bool is_loopback;
  bool is_ipv6;
};

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes =
      address.sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  inet_ntop(address.sa_family, bytes, text.data(), text.size());
  return text.data();
}

std::vector<LocalAddress> all_addresses() {
  std::vector<LocalAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string address = text_of(*one->ifa_addr);
    if (address.starts_with("fe80:")) continue;  // means nothing without its interface
    found.push_back({one->ifa_name, address, (one->ifa_flags & IFF_LOOPBACK) != 0, family == AF_INET6});
  }
  freeifaddrs(list);
  std::stable_sort(found.begin(), found.end(), [](const LocalAddress& a, const LocalAddress& b) {
    return std::pair(a.is_loopback, a.is_ipv6) < std::pair(b.is_loopback, b.is_ipv6);
  });
  return found;
}

bool fits(const LocalAddress& one, const std::string& where, const std::optional<Network>& network) {
  if (where.empty() || one.interface == where) return true;
  const std::optional<Bytes> bytes = network ? parse_bytes(one.address) : std::nullopt;
  return bytes && network->contains(*bytes);
}

}  // namespace

std::vector<std::string> local_addresses(const std::string& where) {
  const std::optional<Network> network = parse_network(where);
  std::vector<std::string> found;
  std::string there;
  for (const LocalAddress& one : all_addresses()) {
    there += cat(there.empty() ? "" : ", ", one.interface, ' ', one.address);
    if (fits(one, where, network)) found.push_back(one.address);
  }
  require<UsageError>(!found.empty(), "[network] ", where, ": no such interface or network here; there are ",
                      there.empty() ? "none" : there);
  return found;
}

bool is_private_address(const std::string& address) {
  const std::optional<Bytes> bytes = parse_bytes(address);
  if (!bytes) return false;
  for (const char* network : {"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
                              "169.254.0.0/16", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
                              "203.0.113.0/24", "::1/128", "fc00::/7", "fe80::/10"})
    if (parse_network(network)->contains(*bytes)) return true;
  return false;
}

}  // namespace ronde::inline v0
