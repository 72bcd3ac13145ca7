// Where entries stand in a chain that new ones are put in front of, without walking it.
//
// Entries are numbered as they come. As long as none has gone, an entry's place follows from its number; from
// then on the numbers that went are counted in a Fenwick tree (P. Fenwick, "A new data structure for
// cumulative frequency tables", Software: Practice and Experience 24(3), 1994), four bytes a number.
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rkv {

class ChainOrder {
 public:
  // Puts an entry in front. Its number, for later calls.
  std::uint32_t add() { return given_++; }

  // Takes out the entry of this number, which is in.
  void remove(std::uint32_t number) {
    while (gone_up_to_.size() <= number) {
      // A power of two, so that what is counted stays where it is: only the new last element spans it.
      gone_up_to_.resize(gone_up_to_.empty() ? first_size : 2 * gone_up_to_.size());
      gone_up_to_.back() = gone_;
    }
    for (std::size_t i = number; i < gone_up_to_.size(); i |= i + 1) ++gone_up_to_[i];
    ++gone_;
  }

  // How many entries a walk from the front touches until it has found this one: 1 for the first.
  [[nodiscard]] std::uint64_t place(std::uint32_t number) const {
    std::uint32_t gone_before = 0;
    if (gone_ > 0) {
      for (std::size_t end = gone_end(number); end > 0; end &= end - 1) gone_before += gone_up_to_[end - 1];
    }
    return given_ - number - (gone_ - gone_before);
  }

  // Whether most numbers are of entries that have gone. Then the owner clears the order and adds its entries
  // again, oldest first, so that numbers and memory are bounded by the entries there are.
  [[nodiscard]] bool worn() const { return gone_ > first_size && gone_ > given_ / 2; }

 private:
  static constexpr std::size_t first_size = 64;

  // Numbers from the tree's end on have not gone.
  [[nodiscard]] std::size_t gone_end(std::uint32_t number) const {
    return number < gone_up_to_.size() ? number : gone_up_to_.size();
  }

  std::uint32_t given_ = 0;
  std::uint32_t gone_ = 0;
  std::vector<std::uint32_t> gone_up_to_;  // element i: of the numbers i & (i + 1) to i
};

}  // namespace rkv
