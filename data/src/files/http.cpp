#include "files/http.h"

#include <curl/curl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <system_error>

#include <ronde/core/error.h>
#include <ronde/core/file_descriptor.h>

namespace ronde::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// Shared by curl's callbacks, which must not let an exception out.
struct Transfer {
  int descriptor;
  const FetchOptions& options;
  std::int64_t written = 0, reported = 0;
  Clock::time_point last_bytes = Clock::now();
  bool too_long = false;
  bool stalled = false;
  std::exception_ptr failure = {};
};

std::size_t on_bytes(char* data, std::size_t, std::size_t bytes, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.written += static_cast<std::int64_t>(bytes);
  transfer.last_bytes = Clock::now();
  transfer.too_long = transfer.written > transfer.options.max_bytes;
  if (transfer.too_long) return CURL_WRITEFUNC_ERROR;
  try {
    write_all(transfer.descriptor, {data, bytes}, "data: a download");
  } catch (...) {
    transfer.failure = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
  return bytes;
}

/// Called at least once a second, also when nothing arrives.
int on_progress(void* context, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(context);
  try {
    if (now > transfer.reported && transfer.options.progress) transfer.options.progress(now, total);
    transfer.reported = now;
    // curl's own limit on slowness averages over five seconds, so it notices late.
    transfer.stalled =
        Clock::now() - transfer.last_bytes > std::chrono::seconds(transfer.options.stall_timeout_s);
    return transfer.stalled ? 1 : 0;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 1;
  }
}

}  // namespace

std::string fetch(const std::string& url, int descriptor, const FetchOptions& options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (initialised != CURLE_OK || !curl) throw std::bad_alloc();
  Transfer transfer{.descriptor = descriptor, .options = options};
  std::array<char, CURL_ERROR_SIZE> reason{};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https,file");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "ronde");
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout_s));
  set(CURLOPT_ERRORBUFFER, reason.data());
  set(CURLOPT_WRITEFUNCTION, &on_bytes);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  set(CURLOPT_XFERINFODATA, &transfer);

  const CURLcode status = curl_easy_perform(curl.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (transfer.too_long) return cat("more than ", options.max_bytes, " bytes");
  if (transfer.stalled) return cat("no data for ", options.stall_timeout_s, " s");
  if (status == CURLE_OK) return "";
  return reason[0] ? reason.data() : curl_easy_strerror(status);
}

}  // namespace ronde::inline v0
