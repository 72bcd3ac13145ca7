// Points as they come: lines of a table on standard output, what is wrong with them on standard error.
#pragma once

#include <string_view>

#include "core/report/result.hpp"

namespace rkv {

void print_point_header();
void print_point(const PointResult& point);
// Wrong responses, and why the point ended early, if it did.
void print_complaints(std::string_view program, const PointResult& point);

}  // namespace rkv
