#include <ronde/distributed/objects.h>

#include <cstdlib>
#include <memory>
#include <span>

#include <cxxabi.h>

#include <ronde/core/backend.h>

namespace ronde::inline v0 {
namespace {

Tensor tensor_of(const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Tensor::from<std::uint8_t>({static_cast<std::int64_t>(bytes.size())},
                                    std::span<const std::uint8_t>(data, bytes.size()), &backend("cpu"));
}

// As a user writes it: "std::vector<std::string>".
std::string type_text(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  std::string text = status == 0 ? demangled.get() : type.name();
  const auto replace_all = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace_all("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
              "std::string");
  replace_all(" >", ">");
  return text;
}

Collective make(Collective::Verb verb, const std::string& bytes, const std::type_info& type,
                const std::string& name) {
  Collective call;
  call.verb = verb;
  call.name = name;
  call.in = tensor_of(bytes);
  call.type = type_text(type);
  call.received = std::make_shared<ReceivedRows>();
  return call;
}

}  // namespace

Pending<std::string> broadcast_bytes(Communicator& communicator, const std::string& bytes, int root,
                                     const std::type_info& type, const std::string& name) {
  Collective call = make(Collective::Verb::broadcast, bytes, type, name);
  call.root = root;
  const auto received = call.received;
  Work work = communicator.start(std::move(call));
  return {std::move(work), [received] {
            return std::string(static_cast<const char*>(received->rows.raw()), received->rows.byte_size());
          }};
}

Pending<std::vector<std::string>> allgather_bytes(Communicator& communicator, const std::string& bytes,
                                                  const std::type_info& type, const std::string& name) {
  Collective call = make(Collective::Verb::allgather, bytes, type, name);
  const auto received = call.received;
  Work work = communicator.start(std::move(call));
  return {std::move(work), [received] {
            const char* at = static_cast<const char*>(received->rows.raw());
            std::vector<std::string> all;
            for (const std::int64_t count : received->counts) {
              all.emplace_back(at, static_cast<std::size_t>(count));
              at += count;
            }
            return all;
          }};
}

}  // namespace ronde::inline v0
