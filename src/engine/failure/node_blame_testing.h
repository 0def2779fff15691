#pragma once

// Reference implementation of the rules of NodeBlame, for its tests: it keeps all evidence and
// searches it again for each decision.

#include <optional>
#include <vector>

#include "engine/failure/node_blame.h"

namespace muster::node_blame_testing {

class Reference {
 public:
  Reference(std::size_t nodes, const NodeBlameOptions& options)
      : options_(options), closed_(nodes) {}

  std::optional<EvidenceGrade> measured(Instant now, NodeId node) {
    if (closed_[node.index()]) return std::nullopt;
    all_.push_back({now, node, true});
    return judge(now, node, false, nullptr);
  }

  std::optional<EvidenceGrade> report(Instant now, const NodeReport& report, bool may_close) {
    if (closed_[report.node.index()] || is_ignored(report.tenant, now)) return std::nullopt;
    Evidence one{now, report.node, false, report};
    one.alike = report.reason != Reason::kNoSignature &&
                (report.nature == RetryClass::kNode || report.nature == RetryClass::kSuspect);
    one.young = report.ran <= options_.young && report.nature != RetryClass::kDeterministic;
    if (!one.alike && !one.young) return std::nullopt;
    all_.push_back(one);
    return judge(now, report.node, may_close, &all_.back());
  }

  void reopen(Instant now, NodeId node, bool passed) {
    if (passed) {
      for (const TenantId tenant : accused_by(node)) {
        int& count = refuted_[tenant.index()];
        if (++count < options_.refuted) continue;
        count = 0;
        ignored_until_[tenant.index()] = now + options_.ignored;
      }
    }
    accusers_[node.index()].clear();
    closed_[node.index()] = false;
  }

 private:
  struct Evidence {
    Instant at;
    NodeId node;
    bool is_event = false;
    NodeReport report = {};
    bool alike = false;
    bool young = false;
  };

  bool is_ignored(TenantId tenant, Instant now) const {
    return now < ignored_until_[tenant.index()];
  }
  const std::vector<TenantId>& accused_by(NodeId node) const { return accusers_[node.index()]; }

  bool is_confirmed(const Evidence& one, Instant now) const {
    for (const Evidence& event : all_) {
      if (!event.is_event || event.node != one.node || now - event.at > options_.window) continue;
      const Duration apart = std::max(event.at - one.at, one.at - event.at);
      if (apart <= options_.confirms) return true;
    }
    return false;
  }

  std::optional<EvidenceGrade> judge(Instant now, NodeId node, bool may_close,
                                     const Evidence* latest) {
    int events = 0;
    int confirmed = 0;
    for (const Evidence& one : all_) {
      if (one.node != node || now - one.at > options_.window) continue;
      events += one.is_event ? 1 : 0;
      confirmed += !one.is_event && is_confirmed(one, now) ? 1 : 0;
    }
    if (events > 0 && events + confirmed >= 2) return close(node, EvidenceGrade::kMeasured, {});
    if (latest == nullptr || !may_close) return std::nullopt;
    std::vector<TenantId> tenants;
    if (latest->alike && two_users(now, *latest, false, tenants)) {
      return close(node, EvidenceGrade::kReported, tenants);
    }
    if (latest->young && two_users(now, *latest, true, tenants)) {
      return close(node, EvidenceGrade::kReported, tenants);
    }
    return std::nullopt;
  }

  // Whether two reports that count with the latest have different users and, if required, tenants.
  bool two_users(Instant now, const Evidence& latest, bool young,
                 std::vector<TenantId>& tenants) const {
    std::vector<const Evidence*> alike;
    tenants.clear();
    for (const Evidence& one : all_) {
      if (one.is_event || one.node != latest.node || is_ignored(one.report.tenant, now)) continue;
      const bool counts = young ? one.young && now - one.at <= options_.young_window
                                : one.alike && one.report.reason == latest.report.reason &&
                                      now - one.at <= options_.window;
      if (!counts) continue;
      alike.push_back(&one);
      const TenantId tenant = one.report.tenant;
      if (std::find(tenants.begin(), tenants.end(), tenant) == tenants.end()) {
        tenants.push_back(tenant);
      }
    }
    for (const Evidence* a : alike) {
      for (const Evidence* b : alike) {
        if (a->report.user == b->report.user) continue;
        if (options_.tenants == 1 || a->report.tenant != b->report.tenant) return true;
      }
    }
    return false;
  }

  EvidenceGrade close(NodeId node, EvidenceGrade grade, std::vector<TenantId> tenants) {
    std::erase_if(all_, [&](const Evidence& one) { return one.node == node; });
    closed_[node.index()] = true;
    accusers_[node.index()] = std::move(tenants);
    return grade;
  }

  NodeBlameOptions options_;
  std::vector<bool> closed_;
  std::vector<Evidence> all_;
  std::vector<TenantId> accusers_[8];
  int refuted_[8] = {};
  Instant ignored_until_[8];
};

}  // namespace muster::node_blame_testing
