/// SharedRegion: zeroed memory that several processes of one node map.
///
///     auto own = SharedRegion::create(SharedRegion::Kind::anonymous, bytes);
///     send(own->ticket());                              // plain bytes
///     auto same = SharedRegion::attach(ticket);         // in another process
///     own->close_door();                                // when everybody has attached
///
/// The memory exists as long as somebody maps it and goes with the last process, however that ends.
#pragma once

#include <cstdint>
#include <memory>

namespace ronde::inline v0 {

class SharedRegion : public std::enable_shared_from_this<SharedRegion> {
 public:
  /// `anonymous` has no name and needs no /dev/shm; others open it through /proc, which some containers
  /// forbid. `named` has a name in /dev/shm until its door is closed.
  enum class Kind : std::int32_t { anonymous, named };

  /// How another process, or another thread of this one, finds it.
  struct Ticket {
    Kind kind = Kind::anonymous;
    std::int32_t process = 0;
    std::int32_t file = -1;
    std::uint64_t space = 0;  // the name space in which `process` is a number; 0: not known
    std::uint64_t maker = 0;  // random, one per process: numbers may repeat in another name space
    char name[44] = {};
    std::uint64_t device = 0, inode = 0;  // what the file must be
    std::int64_t bytes = 0;
    SharedRegion* here = nullptr;  // in the process that made it
  };

  /// Throws an Error when the system does not give that much.
  static std::shared_ptr<SharedRegion> create(Kind kind, std::int64_t bytes);
  /// In the process that made the region: the region itself, not a second mapping. Throws an Error when this
  /// process may not or cannot see it, or could not see whether the other one still lives.
  static std::shared_ptr<SharedRegion> attach(const Ticket& ticket);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  char* data() const { return data_; }
  std::int64_t bytes() const { return ticket_.bytes; }
  Kind kind() const { return ticket_.kind; }
  const Ticket& ticket() const { return ticket_; }
  /// From now on nobody can attach; the name is gone.
  void close_door();

 private:
  SharedRegion() = default;
  void open_anonymous();
  void open_named();
  void reserve();
  void map(int file);

  Ticket ticket_;
  char* data_ = nullptr;
};

}  // namespace ronde::inline v0
