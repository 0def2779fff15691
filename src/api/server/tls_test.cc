// TLS, with a certificate made here.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>

#include "api/server/server.h"
#include "api/server/testing.h"

namespace muster {
namespace {

void make_certificate(const Folder& folder) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3'600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  FILE* file = std::fopen((folder / "cert.pem").c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  file = std::fopen((folder / "key.pem").c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

class TlsClient {
 public:
  explicit TlsClient(std::uint16_t port, int newest = TLS1_3_VERSION)
      : raw_(RawClient::to_tcp(port)), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, newest);
    SSL_CTX_set_security_level(context_, 0);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, raw_.get());
    shaken_ = SSL_connect(ssl_) == 1;
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  bool shaken() const { return shaken_; }
  // The answer, and whether the server said goodbye.
  std::pair<std::string, bool> ask(const std::string& request) {
    SSL_write(ssl_, request.data(), static_cast<int>(request.size()));
    std::string answer;
    char room[4'096];
    int n = 0;
    while ((n = SSL_read(ssl_, room, sizeof room)) > 0) {
      answer.append(room, static_cast<std::size_t>(n));
    }
    return {answer, SSL_get_error(ssl_, n) == SSL_ERROR_ZERO_RETURN};
  }

 private:
  RawClient raw_;
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  bool shaken_ = false;
};

TEST(Tls, EncryptsAndSaysGoodbye) {
  const Folder folder;
  make_certificate(folder);
  ServerSettings settings;
  settings.certificate = folder / "cert.pem";
  settings.key = folder / "key.pem";
  const TcpTest tcp(settings);
  const std::uint16_t port = tcp.test->server->tcp_port();
  for (int i = 0; i < 3; ++i) {
    TlsClient client(port);
    ASSERT_TRUE(client.shaken());
    const auto [answer, goodbye] =
        client.ask(get("/v1/nodes", TcpTest::with(tcp.ann) + "Connection: close\r\n"));
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_EQ(body_of(answer), R"({"call":"listNodes"})");
    EXPECT_TRUE(goodbye);
  }
  // With TLS, any Host is accepted: the client verifies the name in the certificate.
  TlsClient named(port);
  const auto [answer, goodbye] = named.ask("GET /healthz HTTP/1.1\r\nHost: gpu.example.org\r\n" +
                                           std::string("Connection: close\r\n\r\n"));
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(goodbye);
  EXPECT_FALSE(TlsClient(port, TLS1_1_VERSION).shaken());
  // Plain words, and silence, end the handshake.
  RawClient plain = tcp.connect();
  plain.send(get("/v1/nodes"));
  plain.read_all();
  EXPECT_TRUE(plain.ended());
  settings.limits.request_time = Duration::micros(500'000);
  const TcpTest hasty(settings);
  RawClient silent = hasty.connect();
  silent.read_all();
  EXPECT_TRUE(silent.ended());
}

// Settings of a server that listens by TLS, with the files it needs, and bad.pem, which is not a
// certificate.
ServerSettings with_certificate(const Folder& folder) {
  make_certificate(folder);
  folder.write("t", "");
  folder.write("bad.pem", "nothing");
  ServerSettings settings;
  settings.socket_path = folder / "s";
  settings.tcp_address = "127.0.0.1:0";
  settings.token_file = folder / "t";
  settings.certificate = folder / "cert.pem";
  settings.key = folder / "key.pem";
  return settings;
}

TEST(Tls, NeedsACertificateAndItsKey) {
  FakeService service;
  const Folder folder;
  ServerSettings settings = with_certificate(folder);
  settings.key.clear();
  EXPECT_FALSE(ApiServer::open(settings, service).ok());
  settings.key = folder / "bad.pem";
  EXPECT_FALSE(ApiServer::open(settings, service).ok());
  settings.certificate = folder / "none.pem";
  settings.key = folder / "key.pem";
  EXPECT_FALSE(ApiServer::open(settings, service).ok());
}

// As `muster serve --check`: the same errors, and no socket is opened.
TEST(Tcp, IsCheckedWithoutServing) {
  const Folder folder;
  const ServerSettings good = with_certificate(folder);
  EXPECT_FALSE(ApiServer::check(good));
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
  const auto said = [&](auto change) {
    ServerSettings settings = good;
    change(settings);
    const MaybeError refusal = ApiServer::check(settings);
    return refusal ? refusal->message : "";
  };
  const std::string missing = ": No such file or directory";
  EXPECT_EQ(said([&](auto& s) { s.token_file = folder / "none"; }), (folder / "none") + missing);
  EXPECT_EQ(said([&](auto& s) { s.certificate = folder / "none"; }), (folder / "none") + missing);
  EXPECT_EQ(said([&](auto& s) { s.key = folder / "none"; }), (folder / "none") + missing);
  EXPECT_NE(
      said([&](auto& s) { s.certificate = folder / "bad.pem"; }).find("not a valid certificate"),
      std::string::npos);
  EXPECT_NE(said([&](auto& s) { s.key = folder / "bad.pem"; }).find("not the private key of"),
            std::string::npos);
  EXPECT_NE(said([&](auto& s) { s.socket_path = std::string(200, 'x'); }).find("longer than"),
            std::string::npos);
  EXPECT_NE(said([](auto& s) { s.tcp_address = "localhost:7077"; }).find("must be an address"),
            std::string::npos);
  folder.write("ticket.key", "short");
  EXPECT_NE(said([&](auto& s) { s.ticket_key = folder / "ticket.key"; }).find("not a valid key"),
            std::string::npos);
  EXPECT_EQ(said([&](auto& s) {
              s.ticket_key = folder / "ticket.key";
              s.tcp_address = "";
            }),
            "")
      << "not needed without TCP";
  EXPECT_NE(said([](auto& s) {
              s.tcp_address = "0.0.0.0:0";
              s.certificate = s.key = "";
            }).find("unencrypted"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
