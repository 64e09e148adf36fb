/// C++ values of all ranks: broadcast_object, allgather_object.
///
///     struct Settings { int epochs; double rate; };
///     const Settings settings = broadcast_object(world, mine).wait();          // rank 0's
///     const auto names = allgather_object(world, std::string("node-7")).wait();  // one of each rank
///
/// What may be sent: trivially copyable types without pointers, std::string, and std::vector, std::pair and
/// std::map of what may be sent. A rank that sends another type than the others is a CollectiveError that
/// names both types. Bytes travel as they are: all ranks run on machines of one kind.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <ronde/distributed/communicator.h>

namespace ronde::inline v0 {

/// How a T becomes bytes and comes out of them again; `take` removes what it has read from the front.
template <class T>
struct ObjectBytes {
  static_assert(
      std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>,
      "expects a trivially copyable type, std::string, or std::vector, std::pair, std::map of these");
  static constexpr bool is_plain = true;  // nothing but its bytes
  static void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static T take(std::string_view& bytes) {
    require(bytes.size() >= sizeof(T), "[objects] expects ", sizeof(T), " more bytes, got ", bytes.size());
    std::remove_const_t<T> value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
  }
};

template <>
struct ObjectBytes<std::string> {
  static void append(std::string& bytes, const std::string& value) {
    ObjectBytes<std::size_t>::append(bytes, value.size());
    bytes += value;
  }
  static std::string take(std::string_view& bytes) {
    const auto size = ObjectBytes<std::size_t>::take(bytes);
    require(bytes.size() >= size, "[objects] expects ", size, " more bytes, got ", bytes.size());
    std::string value(bytes.substr(0, size));
    bytes.remove_prefix(size);
    return value;
  }
};

template <class A, class B>
struct ObjectBytes<std::pair<A, B>> {
  static void append(std::string& bytes, const std::pair<A, B>& value) {
    ObjectBytes<std::remove_const_t<A>>::append(bytes, value.first);
    ObjectBytes<B>::append(bytes, value.second);
  }
  static std::pair<A, B> take(std::string_view& bytes) {
    auto first = ObjectBytes<std::remove_const_t<A>>::take(bytes);
    return {std::move(first), ObjectBytes<B>::take(bytes)};
  }
};

/// Containers whose elements are appended at the end.
template <class C, class Element>
struct ContainerBytes {
  static void append(std::string& bytes, const C& value) {
    ObjectBytes<std::size_t>::append(bytes, value.size());
    for (const Element& element : value) ObjectBytes<Element>::append(bytes, element);
  }
  static C take(std::string_view& bytes) {
    C value;
    for (auto left = ObjectBytes<std::size_t>::take(bytes); left > 0; --left)
      value.insert(value.end(), ObjectBytes<Element>::take(bytes));
    return value;
  }
};

template <class T>
struct ObjectBytes<std::vector<T>> : ContainerBytes<std::vector<T>, T> {};

/// Plain elements in one piece: there may be millions of them.
template <class T>
requires(ObjectBytes<T>::is_plain && !std::is_same_v<T, bool>) struct ObjectBytes<std::vector<T>> {
  static void append(std::string& bytes, const std::vector<T>& value) {
    ObjectBytes<std::size_t>::append(bytes, value.size());
    bytes.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(T));
  }
  static std::vector<T> take(std::string_view& bytes) {
    const auto count = ObjectBytes<std::size_t>::take(bytes);
    require(bytes.size() / sizeof(T) >= count, "[objects] expects ", count, " elements of ", sizeof(T),
            " bytes, got ", bytes.size(), " bytes");
    std::vector<T> value(count);
    if (count > 0) std::memcpy(value.data(), bytes.data(), count * sizeof(T));
    bytes.remove_prefix(count * sizeof(T));
    return value;
  }
};

template <class K, class V>
struct ObjectBytes<std::map<K, V>> : ContainerBytes<std::map<K, V>, std::pair<const K, V>> {};

template <class T>
std::string object_bytes(const T& value) {
  std::string bytes;
  ObjectBytes<T>::append(bytes, value);
  return bytes;
}

template <class T>
T object_of(std::string_view bytes) {
  return ObjectBytes<T>::take(bytes);
}

/// Bytes that stand for a value of `type`.
RONDE_API Pending<std::string> broadcast_bytes(Communicator& communicator, const std::string& bytes, int root,
                                               const std::type_info& type, const std::string& name);
RONDE_API Pending<std::vector<std::string>> allgather_bytes(Communicator& communicator,
                                                            const std::string& bytes,
                                                            const std::type_info& type,
                                                            const std::string& name);

/// Root's value, on every rank.
template <class T>
Pending<T> broadcast_object(Communicator& communicator, const T& value, int root = 0,
                            const std::string& name = {}) {
  const bool is_root = communicator.rank() == root;
  return broadcast_bytes(communicator, is_root ? object_bytes(value) : std::string(), root, typeid(T), name)
      .map([](const std::string& bytes) { return object_of<T>(bytes); });
}

/// The values of all ranks, in rank order.
template <class T>
Pending<std::vector<T>> allgather_object(Communicator& communicator, const T& value,
                                         const std::string& name = {}) {
  return allgather_bytes(communicator, object_bytes(value), typeid(T), name)
      .map([](const std::vector<std::string>& all) {
        std::vector<T> values;
        for (const std::string& bytes : all) values.push_back(object_of<T>(bytes));
        return values;
      });
}

}  // namespace ronde::inline v0
