// The tool beside the trainers: `ronde info`, `ronde data get mnist`, `ronde predict model.h5 cat.png` ...
#include "ronde/commands.h"
#include "ronde/tool.h"

int main(int argc, char** argv) {
  using namespace ronde::apps;
  return tool_main(argc, argv,
                   {info_command(), bench_command(), data_get_command(), data_pack_command(),
                    summary_command(), evaluate_command(), predict_command(), inspect_command(),
                    export_command(), report_command(), run_command()});
}
