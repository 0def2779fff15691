#pragma once

// The server's own figures for /metrics, beside the manager's. For the server's thread.

#include <memory>
#include <string>
#include <string_view>

namespace muster {

class Figures {
 public:
  Figures();
  ~Figures();
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;

  // `method` and `path` as in the table of routes, with {id}; they are kept. Requests that fit none
  // have "other" for both.
  void count(std::string_view method, std::string_view path, int status, double seconds);
  void set_connections(std::size_t connections);
  void count_turned_away();

  std::string text() const;  // In Prometheus' format.

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
