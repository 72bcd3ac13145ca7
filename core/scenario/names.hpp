// The words that scenario files and reports use for the scenario's enumerations.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/document/enum_names.hpp"
#include "core/scenario/scenario.hpp"

namespace rkv {

template <>
struct EnumNames<Transport> {
  static constexpr std::array<std::pair<Transport, std::string_view>, 4> values{
      {{Transport::tcp, "tcp"}, {Transport::rc, "rc"}, {Transport::uc, "uc"}, {Transport::ud, "ud"}}};
};

template <>
struct EnumNames<Exchange> {
  static constexpr std::array<std::pair<Exchange, std::string_view>, 7> values{
      {{Exchange::send_send, "send_send"},
       {Exchange::socket_socket, "socket_socket"},
       {Exchange::write_write, "write_write"},
       {Exchange::write_read, "write_read"},
       {Exchange::read_write, "read_write"},
       {Exchange::read_read, "read_read"},
       {Exchange::write_send, "write_send"}}};
};

template <>
struct EnumNames<Workload> {
  static constexpr std::array<std::pair<Workload, std::string_view>, 2> values{
      {{Workload::store, "store"}, {Workload::verbs, "verbs"}}};
};

template <>
struct EnumNames<VerbsOptions::Operation> {
  static constexpr std::array<std::pair<VerbsOptions::Operation, std::string_view>, 5> values{
      {{VerbsOptions::Operation::send, "send"},
       {VerbsOptions::Operation::write, "write"},
       {VerbsOptions::Operation::read, "read"},
       {VerbsOptions::Operation::compare_and_swap, "compare_and_swap"},
       {VerbsOptions::Operation::fetch_and_add, "fetch_and_add"}}};
};

template <>
struct EnumNames<CompletionMode> {
  static constexpr std::array<std::pair<CompletionMode, std::string_view>, 6> values{
      {{CompletionMode::busy, "busy"},
       {CompletionMode::event, "event"},
       {CompletionMode::event_batch, "event_batch"},
       {CompletionMode::adaptive, "adaptive"},
       {CompletionMode::hybrid, "hybrid"},
       {CompletionMode::shared, "shared"}}};
};

template <>
struct EnumNames<SocketOptions::Wait> {
  static constexpr std::array<std::pair<SocketOptions::Wait, std::string_view>, 2> values{
      {{SocketOptions::Wait::read, "read"}, {SocketOptions::Wait::select, "select"}}};
};

template <>
struct EnumNames<Arrivals::Kind> {
  static constexpr std::array<std::pair<Arrivals::Kind, std::string_view>, 3> values{
      {{Arrivals::Kind::closed, "closed"},
       {Arrivals::Kind::constant, "constant"},
       {Arrivals::Kind::poisson, "poisson"}}};
};

template <>
struct EnumNames<KeyOptions::Distribution> {
  static constexpr std::array<std::pair<KeyOptions::Distribution, std::string_view>, 5> values{
      {{KeyOptions::Distribution::uniform, "uniform"},
       {KeyOptions::Distribution::zipf, "zipf"},
       {KeyOptions::Distribution::sequential, "sequential"},
       {KeyOptions::Distribution::latest, "latest"},
       {KeyOptions::Distribution::thesis, "thesis"}}};
};

template <>
struct EnumNames<KeyOptions::Scope> {
  static constexpr std::array<std::pair<KeyOptions::Scope, std::string_view>, 2> values{
      {{KeyOptions::Scope::per_client, "per_client"}, {KeyOptions::Scope::shared, "shared"}}};
};

template <>
struct EnumNames<SizeDistribution::Kind> {
  static constexpr std::array<std::pair<SizeDistribution::Kind, std::string_view>, 6> values{
      {{SizeDistribution::Kind::fixed, "fixed"},
       {SizeDistribution::Kind::uniform, "uniform"},
       {SizeDistribution::Kind::normal, "normal"},
       {SizeDistribution::Kind::generalised_pareto, "generalised_pareto"},
       {SizeDistribution::Kind::generalised_extreme_value, "generalised_extreme_value"},
       {SizeDistribution::Kind::discrete, "discrete"}}};
};

template <>
struct EnumNames<StoreOptions::Kind> {
  static constexpr std::array<std::pair<StoreOptions::Kind, std::string_view>, 3> values{
      {{StoreOptions::Kind::chained, "chained"},
       {StoreOptions::Kind::cuckoo, "cuckoo"},
       {StoreOptions::Kind::items, "items"}}};
};

template <>
struct EnumNames<MessageOptions::Format> {
  static constexpr std::array<std::pair<MessageOptions::Format, std::string_view>, 2> values{
      {{MessageOptions::Format::fixed, "fixed"}, {MessageOptions::Format::compact, "compact"}}};
};

template <>
struct EnumNames<ClientOverhead::Kind> {
  static constexpr std::array<std::pair<ClientOverhead::Kind, std::string_view>, 2> values{
      {{ClientOverhead::Kind::none, "none"}, {ClientOverhead::Kind::thesis, "thesis"}}};
};

template <>
struct EnumNames<QueuePairOptions::ReceiveScope> {
  static constexpr std::array<std::pair<QueuePairOptions::ReceiveScope, std::string_view>, 2> values{
      {{QueuePairOptions::ReceiveScope::per_client, "per_client"},
       {QueuePairOptions::ReceiveScope::in_all, "in_all"}}};
};

}  // namespace rkv
