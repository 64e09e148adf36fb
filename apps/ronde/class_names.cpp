#include "ronde/class_names.h"

#include <vector>

#include <ronde/core/counted.h>
#include <ronde/core/error.h>
#include <ronde/models/file_io.h>

namespace ronde::apps {
namespace {

constexpr const char* kDigits = "0,1,2,3,4,5,6,7,8,9";
constexpr const char* kFashion =
    "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot";
constexpr const char* kCifar10 = "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck";

std::vector<std::string> names_of(const std::string& wanted) {
  if (wanted == "mnist") return split(kDigits, ',');
  if (wanted == "fashion-mnist") return split(kFashion, ',');
  if (wanted == "cifar10") return split(kCifar10, ',');
  const bool is_list = wanted.find(',') != std::string::npos;
  std::vector<std::string> names = is_list ? split(wanted, ',') : split(read_file(wanted, 1 << 20), '\n');
  for (std::string& name : names)
    if (name.ends_with('\r')) name.pop_back();
  std::erase(names, "");
  return names;
}

}  // namespace

std::vector<std::string> class_names(const std::string& wanted, std::int64_t outputs, const char* what) {
  std::vector<std::string> names;
  if (wanted.empty()) {
    for (std::int64_t i = 0; i < outputs; ++i) names.push_back(cat(what, " ", i));
    return names;
  }
  names = names_of(wanted);
  require<UsageError>(std::ssize(names) == outputs, "--classes ", wanted, ": ", counted(names.size(), "name"),
                      ", but the net has ", counted(outputs, "output"));
  return names;
}

}  // namespace ronde::apps
