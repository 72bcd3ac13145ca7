// The raw trace: every operation's times, kept in memory while a run lasts and written to a file afterwards.
//
// A TraceBuffer belongs to one client and is filled by that client's thread only; its memory is taken (and
// touched, so that no page fault falls into the measurement) at construction. What comes after it is full is
// counted, not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/message/protocol.hpp"
#include "core/port/time.hpp"

namespace rkv {

// A trace without the keys has this in their place.
inline constexpr std::uint64_t no_key_id = ~std::uint64_t{0};

struct TraceRecord {
  Instant sent;
  Instant received;
  std::uint64_t key_id = no_key_id;  // the workload's number of the key
  Method method = Method::get;
  ResponseCode code = ResponseCode::ok;
};

class TraceBuffer {
 public:
  TraceBuffer(std::uint32_t client, std::size_t capacity) : client_(client), records_(capacity) {}

  void add(const TraceRecord& record) {
    if (used_ < records_.size()) {
      records_[used_++] = record;
    } else {
      ++overflow_;
    }
  }

  [[nodiscard]] std::uint32_t client() const { return client_; }
  [[nodiscard]] std::span<const TraceRecord> records() const { return {records_.data(), used_}; }
  [[nodiscard]] std::uint64_t overflow() const { return overflow_; }  // records there was no room for

 private:
  std::uint32_t client_;
  std::size_t used_ = 0;
  std::uint64_t overflow_ = 0;
  std::vector<TraceRecord> records_;
};

enum class TraceFormat : std::uint8_t {
  csv,    // client,operation,method,code,sent_ns,received_ns,latency_us,key_id
  binary  // described in docs/report.md
};

// "csv" or "bin", which is also the ending of the file's name; nothing for another word.
[[nodiscard]] std::optional<TraceFormat> trace_format(std::string_view ending);
[[nodiscard]] std::string_view file_ending(TraceFormat format);

// Writes the clients' traces one after the other. Times in the file are nanoseconds since `origin`; an
// operation's number is its place in its client's buffer. Throws rkv::Error when the file exists or can't be
// written.
void write_trace(const std::filesystem::path& file, TraceFormat format, std::span<const TraceBuffer> clients,
                 Instant origin);

}  // namespace rkv
