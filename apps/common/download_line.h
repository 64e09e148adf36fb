/// What a person sees of a download.
#pragma once

#include <ronde/data/download.h>

namespace ronde::apps {

/// On stderr: a line that overwrites itself on a terminal; elsewhere one line for each finished file.
void show_download(const DownloadProgress& progress);

}  // namespace ronde::apps
