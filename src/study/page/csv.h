#pragma once

// A page for spreadsheets: each table, plot and Gantt chart as a CSV file named KEY.csv.
//
//   tables   as they are, with all digits
//   plots    series,x,y; of bars series,category,y: a row a point
//   Gantt    group,row,label,begin_s,end_s: a row a bar, rows counted from 0 over all groups
//
// Cells of no value, NaN and infinity are empty. Texts keep their bytes.

#include <string>

#include "base/types/result.h"
#include "study/page/page.h"

namespace muster {

// Makes the directory, with its parents, if it is not there. The files take their places only after
// all were written; files of other names stay. Says in one line which could not be written.
Refusal write_page_csv(const std::string& dir, const Page& page);

}  // namespace muster
