#include <ronde/distributed/network.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <arpa/inet.h>

#include <ronde/core/error.h>
#include <ronde/core/machine.h>

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

std::vector<LocalAddress> all_addresses() {
  std::vector<LocalAddress> found;
  for (const NetworkInterface& one : network_interfaces()) {
    if (!one.is_enabled) continue;
    for (const std::string& address : one.addresses)
      if (!address.starts_with("fe80:"))  // which means nothing without its interface
        found.push_back({one.name, address, one.is_loopback, address.find(':') != std::string::npos});
  }
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
