#include "core/report/result.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace rkv {
namespace {

double rate_per_second(std::uint64_t operations, std::chrono::nanoseconds time) {
  return time.count() <= 0 ? 0.0 : static_cast<double>(operations) / in_seconds(time);
}

constexpr std::size_t row_of(Method method) {
  return static_cast<std::size_t>(method) - 1;
}

// Means of two groups of operations become means of all of them. What a group does not name took it no time.
void merge_means(std::map<std::string, double>& into, std::uint64_t into_operations,
                 const std::map<std::string, double>& from, std::uint64_t from_operations) {
  if (from_operations == 0) {
    return;
  }
  const double from_share = static_cast<double>(from_operations) /
                            (static_cast<double>(into_operations) + static_cast<double>(from_operations));
  for (auto& [name, mean] : into) {
    mean *= 1 - from_share;
  }
  for (const auto& [name, mean] : from) {
    into[name] += from_share * mean;
  }
}

}  // namespace

void OperationCounts::add(Method method, ResponseCode code, std::uint64_t operations) {
  const auto row = row_of(method);
  const auto column = static_cast<std::size_t>(code);
  if (row < counts_.size() && column < response_code_count) {
    counts_[row][column] += operations;
  }
}

std::uint64_t OperationCounts::of(Method method, ResponseCode code) const {
  return counts_.at(row_of(method)).at(static_cast<std::size_t>(code));
}

std::uint64_t OperationCounts::total() const {
  std::uint64_t sum = 0;
  for (const auto& row : counts_) {
    for (const auto count : row) {
      sum += count;
    }
  }
  return sum;
}

void OperationCounts::merge(const OperationCounts& other) {
  for (std::size_t row = 0; row < counts_.size(); ++row) {
    for (std::size_t column = 0; column < response_code_count; ++column) {
      counts_[row][column] += other.counts_[row][column];
    }
  }
}

void MeasuredWindow::include(std::chrono::nanoseconds request, std::chrono::nanoseconds response) {
  first_request = std::min(first_request, request);
  last_response = std::max(last_response, response);
}

void MeasuredWindow::merge(const MeasuredWindow& other) {
  include(other.first_request, other.last_response);
}

std::chrono::nanoseconds MeasuredWindow::length() const {
  return empty() ? std::chrono::nanoseconds{0} : last_response - first_request;
}

void SideUsage::add(const ThreadUsage& thread) {
  merge({.threads = 1,
         .voluntary_switches = thread.voluntary_switches,
         .involuntary_switches = thread.involuntary_switches,
         .cpu_time = thread.cpu_time,
         .thread_wall_time = thread.wall_time});
}

void SideUsage::merge(const SideUsage& other) {
  threads += other.threads;
  voluntary_switches += other.voluntary_switches;
  involuntary_switches += other.involuntary_switches;
  cpu_time += other.cpu_time;
  thread_wall_time += other.thread_wall_time;
}

void ServerWork::merge(const ServerWork& other) {
  served += other.served;
  ignored += other.ignored;
  rejected += other.rejected;
  broken_sessions += other.broken_sessions;
  entries_walked += other.entries_walked;
  bytes_copied += other.bytes_copied;
  store_entries += other.store_entries;
}

double SideUsage::utilisation() const {
  return thread_wall_time.count() <= 0 ? 0.0 : in_seconds(cpu_time) / in_seconds(thread_wall_time);
}

ClientResult client_result(std::uint32_t client, const Histogram& latency, const MeasuredWindow& window) {
  return {.client = client,
          .operations = latency.count(),
          .throughput_ops_s = rate_per_second(latency.count(), window.length()),
          .latency_mean_ns = latency.mean_ns(),
          .latency_p99_ns = latency.quantile_ns(0.99)};
}

void CheckViolations::add(std::string_view text) {
  ++count;
  if (texts.size() < texts_kept) {
    auto& kept = texts.emplace_back(text.substr(0, text_bytes));
    std::replace_if(
        kept.begin(), kept.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  }
}

void CheckViolations::merge(const CheckViolations& other) {
  count += other.count;
  for (const auto& text : other.texts) {
    if (texts.size() < texts_kept) {
      texts.push_back(text);
    }
  }
}

double PointResult::throughput_ops_s() const {
  return rate_per_second(operations.total(), window.length());
}

double OtherWay::throughput_ops_s() const {
  return rate_per_second(operations, measured);
}

Fairness fairness(const std::vector<ClientResult>& clients) {
  double sum = 0, sum_of_squares = 0;
  double least = clients.empty() ? 0 : clients.front().throughput_ops_s;
  double most = least;
  for (const auto& client : clients) {
    const double rate = client.throughput_ops_s;
    sum += rate;
    sum_of_squares += rate * rate;
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  if (sum_of_squares <= 0) {
    return {};
  }
  return {.jain_index = sum * sum / (static_cast<double>(clients.size()) * sum_of_squares),
          .min_share = least / sum,
          .max_share = most / sum};
}

void merge(PointResult& into, const PointResult& from) {
  auto clients = into.per_client;
  clients.insert(clients.end(), from.per_client.begin(), from.per_client.end());
  std::sort(clients.begin(), clients.end(),
            [](const ClientResult& left, const ClientResult& right) { return left.client < right.client; });
  const auto twice = std::adjacent_find(
      clients.begin(), clients.end(),
      [](const ClientResult& left, const ClientResult& right) { return left.client == right.client; });
  if (twice != clients.end()) {
    throw Error(fmt::format("client {} is in the results of two client processes", twice->client));
  }
  into.per_client = std::move(clients);
  into.clients += from.clients;
  merge_means(into.time_spent_ns, into.operations.total(), from.time_spent_ns, from.operations.total());
  into.operations.merge(from.operations);
  into.window.merge(from.window);
  into.latency.merge(from.latency);
  into.timeouts += from.timeouts;
  into.retries += from.retries;
  into.reconnections += from.reconnections;
  into.lost += from.lost;
  into.duplicates += from.duplicates;
  into.late_responses += from.late_responses;
  into.direct_gets.merge(from.direct_gets);
  into.server_replays += from.server_replays;
  into.trace_overflow += from.trace_overflow;
  into.check_violations.merge(from.check_violations);
  into.server_work.merge(from.server_work);
  into.server.merge(from.server);
  into.client.merge(from.client);
  for (const auto& [fault, count] : from.injected_faults) {
    into.injected_faults[fault] += count;
  }
  if (!into.partial()) {
    into.partial_reason = from.partial_reason;
  }
}

}  // namespace rkv
