#pragma once

// Answers questions about the audit.
//
// Threads: the manager thread calls it. A worker reads the table with its own connection, because
// the audit can have millions of rows.

#include <string>
#include <utility>

#include "live/query/question_worker.h"
#include "live/query/read_context.h"

namespace muster {

class AuditQueries {
 public:
  AuditQueries(const ReadContext& context, const std::string& home)
      : context_(context), path_(home + "/journal.db") {}

  // Operators see all rows; other users see the rows about themselves and about their jobs.
  void list(const Caller& caller, const ListAudit& call, const Done& done);

 private:
  ReadContext context_;
  std::string path_;
  QuestionWorker worker_;  // Last: its thread uses the other members.
};

}  // namespace muster
