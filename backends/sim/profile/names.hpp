// The words that profile files use for the profile's enumerations.
#pragma once

#include "backends/sim/profile/profile.hpp"
#include "core/document/enum_names.hpp"

namespace rkv {

template <>
struct EnumNames<sim::SchedulerProfile::Kind> {
  static constexpr std::array<std::pair<sim::SchedulerProfile::Kind, std::string_view>, 2> values{
      {{sim::SchedulerProfile::Kind::cfs, "cfs"}, {sim::SchedulerProfile::Kind::eevdf, "eevdf"}}};
};

template <>
struct EnumNames<sim::CacheProfile::Policy> {
  static constexpr std::array<std::pair<sim::CacheProfile::Policy, std::string_view>, 3> values{
      {{sim::CacheProfile::Policy::lru, "lru"},
       {sim::CacheProfile::Policy::fifo, "fifo"},
       {sim::CacheProfile::Policy::random, "random"}}};
};

template <>
struct EnumNames<sim::NicProfile::Kind> {
  static constexpr std::array<std::pair<sim::NicProfile::Kind, std::string_view>, 2> values{
      {{sim::NicProfile::Kind::rnic, "rnic"}, {sim::NicProfile::Kind::soft, "soft"}}};
};

}  // namespace rkv
