#include "cuda/gpu/complaint_text.h"

namespace ronde::inline v0::cuda {

namespace {

const char* name_of_table_op(int op) {
  switch (static_cast<Op>(op)) {
    case Op::gather_rows:
      return "gather_rows";
    case Op::gather_scaled:
      return "gather_scaled";
    case Op::change_pictures:
      return "change_pictures";
    default:
      return "scatter_add_rows";
  }
}

}  // namespace

std::string text_of(const Complaint& c) {
  const std::string value = std::to_string(c.value), row = std::to_string(c.row),
                    limit = std::to_string(c.limit);
  if (c.op == static_cast<int>(Op::softmax_cross_entropy))
    return "[softmax_cross_entropy] label " + value + " of row " + row + " is none of the " + limit +
           (c.limit == 1 ? " class" : " classes");
  return std::string("[") + name_of_table_op(c.op) + "] index " + value + " at position " + row +
         " is outside a table of " + limit + (c.limit == 1 ? " row" : " rows");
}

}  // namespace ronde::inline v0::cuda
