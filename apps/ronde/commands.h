/// The sub-commands of `ronde`, each in its own file.
#pragma once

#include "ronde/command.h"

namespace ronde::apps {

Command info_command();
Command bench_command();
Command data_get_command();
Command data_pack_command();
Command summary_command();
Command evaluate_command();
Command predict_command();
Command inspect_command();
Command export_command();
Command report_command();
Command run_command();

}  // namespace ronde::apps
