// CIFAR-10's archive: gzip, tar and its records.
#include "cifar10/read_cifar10.h"

#include "fuzz.h"
#include "support/make_cifar10.h"

namespace ronde::fuzz {

void fuzz_one(std::string_view bytes) {
  const MemoryFile file(bytes);
  read_cifar10({.path = file.path(), .is_archive = true}, Cifar10Pictures::in_memory);
}

std::vector<std::string> seeds() {
  using namespace test;
  std::vector<TarMember> members{{"cifar-10-batches-bin/", ""},
                                 {"cifar-10-batches-bin/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"}};
  for (const std::string& name : cifar10_files())
    members.emplace_back("cifar-10-batches-bin/" + name, cifar10_records(1, 1));
  return {tar(members), gzip(tar(members))};
}

}  // namespace ronde::fuzz
