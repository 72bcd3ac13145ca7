// A point's result on its way between processes: complete, with the whole histogram, so that results can be
// merged. (report.json has a summary of it instead.)
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/report/result.hpp"

namespace rkv {

[[nodiscard]] nlohmann::json to_json(const PointResult& point);

// Takes what to_json gave. The input may come from anywhere: every field is checked, lists and texts are
// bounded, and a trace file's name is not taken over. Throws rkv::Error saying what is wrong.
[[nodiscard]] PointResult point_from_json(const nlohmann::json& json);

}  // namespace rkv
