// Points as lines of a table on standard output, as they come.
#pragma once

#include "core/report/result.hpp"

namespace rkv {

void print_point_header();
void print_point(const PointResult& point);

}  // namespace rkv
