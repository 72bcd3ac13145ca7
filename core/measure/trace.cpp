#include "core/measure/trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>

#include "core/error.hpp"

namespace rkv {
namespace {

constexpr std::string_view magic = "RKVTRACE";
constexpr std::uint32_t binary_version = 1;
constexpr std::uint32_t header_bytes = 40;
constexpr std::uint32_t record_bytes = 40;
constexpr std::size_t chunk_bytes = 1 << 20;

std::int64_t since(Instant origin, Instant time) {
  return (time - origin).count();
}

// Appends the number's bytes, least significant first, whatever the machine's own order is.
template <typename Number>
void append_little_endian(std::string& out, Number number) {
  for (std::size_t byte = 0; byte < sizeof(Number); ++byte) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * byte) & 0xff));
  }
}

void append_binary(std::string& out, std::uint32_t client, std::uint64_t operation, const TraceRecord& record,
                   Instant origin) {
  append_little_endian(out, client);
  append_little_endian(out, static_cast<std::uint8_t>(record.method));
  append_little_endian(out, static_cast<std::uint8_t>(record.code));
  append_little_endian(out, std::uint16_t{0});
  append_little_endian(out, operation);
  append_little_endian(out, since(origin, record.sent));
  append_little_endian(out, since(origin, record.received));
  append_little_endian(out, record.key_id);
}

void append_csv(std::string& out, std::uint32_t client, std::uint64_t operation, const TraceRecord& record,
                Instant origin) {
  const auto latency_us = static_cast<double>((record.received - record.sent).count()) / 1000.0;
  fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{:.3f},", client, operation, name(record.method),
                 name(record.code), since(origin, record.sent), since(origin, record.received), latency_us);
  if (record.key_id != no_key_id) {
    fmt::format_to(std::back_inserter(out), "{}", record.key_id);
  }
  out.push_back('\n');
}

std::string file_header(TraceFormat format, std::span<const TraceBuffer> clients) {
  if (format == TraceFormat::csv) {
    return "client,operation,method,code,sent_ns,received_ns,latency_us,key_id\n";
  }
  std::uint64_t records = 0, overflow = 0;
  for (const auto& client : clients) {
    records += client.records().size();
    overflow += client.overflow();
  }
  std::string header(magic);
  append_little_endian(header, binary_version);
  append_little_endian(header, header_bytes);
  append_little_endian(header, record_bytes);
  append_little_endian(header, static_cast<std::uint32_t>(clients.size()));
  append_little_endian(header, records);
  append_little_endian(header, overflow);
  return header;
}

// A new file; anything that goes wrong is an Error with its name and the reason.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path)
      : path_(path), file_(std::fopen(path.c_str(), "wbx"), &std::fclose) {
    if (!file_) {
      fail();
    }
  }

  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
      fail();
    }
  }

  void close() {
    if (std::fclose(file_.release()) != 0) {
      fail();
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(fmt::format("cannot write the trace {}: {}", path_.string(), std::strerror(errno)));
  }

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace

std::optional<TraceFormat> trace_format(std::string_view ending) {
  for (const auto format : {TraceFormat::csv, TraceFormat::binary}) {
    if (ending == file_ending(format)) {
      return format;
    }
  }
  return std::nullopt;
}

std::string_view file_ending(TraceFormat format) {
  return format == TraceFormat::csv ? "csv" : "bin";
}

void write_trace(const std::filesystem::path& file, TraceFormat format, std::span<const TraceBuffer> clients,
                 Instant origin) {
  NewFile out(file);
  const auto append = format == TraceFormat::csv ? append_csv : append_binary;
  std::string chunk = file_header(format, clients);
  for (const auto& client : clients) {
    std::uint64_t operation = 0;
    for (const auto& record : client.records()) {
      append(chunk, client.client(), operation++, record, origin);
      if (chunk.size() >= chunk_bytes) {
        out.write(chunk);
        chunk.clear();
      }
    }
  }
  out.write(chunk);
  out.close();
}

}  // namespace rkv
