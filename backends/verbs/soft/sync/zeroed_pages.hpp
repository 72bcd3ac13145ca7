// Page-aligned zeroed memory that costs nothing until it is touched: the rings of queues that may be large.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace rkv::soft {

class ZeroedPages {
 public:
  ZeroedPages() = default;
  // data() is null when the system has no memory.
  explicit ZeroedPages(std::size_t bytes) : bytes_(bytes) {
    void* const memory = bytes == 0 ? MAP_FAILED
                                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }
  ~ZeroedPages() {
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
  }
  ZeroedPages(ZeroedPages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ZeroedPages& operator=(ZeroedPages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace rkv::soft
