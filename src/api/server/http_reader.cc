#include "api/server/http_reader.h"

#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr const char* kLargeHead = "the headers are too large";

}  // namespace

struct HttpReader::Parts {
  explicit Parts(HttpLimits given) : limits(given) { begin(); }

  void begin() {
    parser.emplace();
    parser->header_limit(2 * limits.header_bytes);  // The exact limit is enforced in parse().
    parser->body_limit(limits.body_bytes);
    parser->eager(false);
    state = State::kHead;
    head = {};
    head_bytes = 0;
  }

  void refuse(int with, std::string why) {
    state = State::kBroken;
    status = with;
    trouble = std::move(why);
    rest.clear();
  }

  void parse();
  void read_head();
  void refuse(const beast::error_code& error);

  HttpLimits limits;
  std::optional<http::request_parser<http::string_body>> parser;
  std::string rest;  // Input that is not parsed yet.
  HttpRequest head;
  std::size_t head_bytes = 0;  // Bytes of the head parsed so far.
  State state = State::kHead;
  int status = 0;
  std::string trouble;
};

void HttpReader::Parts::refuse(const beast::error_code& error) {
  if (error == http::error::header_limit) return refuse(431, kLargeHead);
  if (error == http::error::body_limit) return refuse(413, "the body is too large");
  refuse(400, "not a valid HTTP/1.1 request: " + error.message());
}

// Rejects repeated headers: a proxy could use one value and this server the other.
void HttpReader::Parts::read_head() {
  const auto& message = parser->get();
  head.method = std::string(message.method_string());
  head.target = std::string(message.target());
  head.keep_alive = message.keep_alive();
  const std::array<std::pair<std::string_view, std::string*>, 6> fields = {
      {{"Host", &head.host},
       {"Origin", &head.origin},
       {"Authorization", &head.authorization},
       {"Content-Type", &head.content_type},
       {"Idempotency-Key", &head.idempotency_key},
       {"Last-Event-ID", &head.last_event_id}}};
  for (const auto& [name, place] : fields) {
    const auto range = message.equal_range(beast::string_view(name.data(), name.size()));
    if (range.first == range.second) continue;
    if (std::next(range.first) != range.second) {
      return refuse(400, std::string(name) + ": header given twice");
    }
    *place = std::string(range.first->value());
  }
  // The end of a body with an unknown encoding is unknown, so the next request cannot be found.
  const auto coded = message.equal_range(http::field::transfer_encoding);
  for (auto each = coded.first; each != coded.second; ++each) {
    if (beast::iequals(each->value(), "chunked") && std::next(coded.first) == coded.second)
      continue;
    return refuse(501, "Transfer-Encoding: only 'chunked' is supported");
  }
  head.expects_continue = beast::iequals(message[http::field::expect], "100-continue");
}

void HttpReader::Parts::parse() {
  while (!rest.empty() && (state == State::kHead || state == State::kBody)) {
    beast::error_code error;
    const std::size_t used = parser->put(boost::asio::buffer(rest), error);
    rest.erase(0, used);
    if (error && error != http::error::need_more) return refuse(error);
    if (state == State::kHead) head_bytes += used;
    if (head_bytes > limits.header_bytes) return refuse(431, kLargeHead);
    if (state == State::kHead && parser->is_header_done()) {
      // Read before the body, so that trailer fields are ignored.
      state = State::kBody;
      parser->eager(true);
      read_head();
      if (state == State::kBroken) return;
    }
    if (parser->is_done()) state = State::kWhole;
    if (used == 0) return;
  }
}

HttpReader::HttpReader(HttpLimits limits) : parts_(std::make_unique<Parts>(limits)) {}
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;
HttpReader::~HttpReader() = default;

void HttpReader::feed(std::string_view bytes) {
  if (parts_->state == State::kBroken) return;
  parts_->rest += bytes;
  parts_->parse();
  // Bytes that the parser does not accept belong to a head, a chunk head or a trailer.
  const std::size_t begun = parts_->state == State::kHead ? parts_->head_bytes : 0;
  if (parts_->state != State::kWhole && begun + parts_->rest.size() > parts_->limits.header_bytes) {
    parts_->refuse(431, kLargeHead);
  }
}

HttpReader::State HttpReader::state() const { return parts_->state; }

bool HttpReader::begun() const { return parts_->state != State::kHead || !parts_->rest.empty(); }

const HttpRequest& HttpReader::head() const { return parts_->head; }

HttpRequest HttpReader::take() {
  MUSTER_CHECK(parts_->state == State::kWhole);
  HttpRequest request = std::move(parts_->head);
  request.body = std::move(parts_->parser->get().body());
  return request;
}

void HttpReader::next() {
  parts_->begin();
  parts_->parse();
}

int HttpReader::status() const { return parts_->status; }
const std::string& HttpReader::trouble() const { return parts_->trouble; }

}  // namespace muster
