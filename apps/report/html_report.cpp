#include "report/html_report.h"

#include <ronde/core/text.h>

#include "report/html_text.h"
#include "report/page_style.h"
#include "report/sections.h"

namespace ronde::apps {

std::string html_report(const RunReport& run) {
  std::string page =
      cat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
          escaped(page_title(run.report)), "</title>\n<style>\n", page_style(),
          "</style>\n</head>\n<body>\n<main>\n");
  page += header_section(run) + figures_section(run) + curves_section(run.report);
  if (run.details) page += classes_section(*run.details) + mistakes_section(*run.details);
  if (run.timeline) page += timeline_section(*run.timeline);
  page += times_section(run) + run_section(run);
  return page + cat("</main>\n<footer>Made by Ronde ", RONDE_VERSION, ".</footer>\n</body>\n</html>\n");
}

}  // namespace ronde::apps
