// How bytes move between registered memory of two queue pairs.
//
// A SEND's bytes are handed over by its completion, so they are copied plainly. One-sided data may be looked
// at, or changed, by the application at any time: they move by atomic words in increasing address order, the
// last one with release (or each with acquire, for a READ), so that whoever sees the last word of an RDMA
// WRITE sees all of it. Who reads may look at the last byte of where the bytes go to: it is stored with
// release.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rkv::soft {

struct Segment {
  std::byte* address;
  std::uint32_t length_bytes;
};

// Copies between private memory and private memory; the ranges may overlap.
void copy_private(std::byte* to, const std::byte* from, std::size_t bytes);
// Copies into memory that the application reads concurrently.
void copy_publish(std::byte* to, const std::byte* from, std::size_t bytes);
// Copies out of memory that others write concurrently. The last byte is published.
void copy_observe(std::byte* to, const std::byte* from, std::size_t bytes);

using CopyFunction = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

// Copies bytes of the segments, from byte `skip_bytes` on, into private memory.
void gather_segments(std::byte* to, const Segment* from, std::size_t skip_bytes, std::size_t bytes);

// Copies the source segments one after the other into the target segments, from byte `skip_bytes` of the
// target on. The target is large enough. Either list may hold empty segments.
void copy_segments(CopyFunction copy, const Segment* to, std::size_t skip_bytes, const Segment* from,
                   std::uint32_t from_count);

}  // namespace rkv::soft
