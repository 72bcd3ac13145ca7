// The state machine of queue pairs over the wire: an input is what a peer sends and what the application
// does, one after the other. Beside what the sanitizers see: memory that may not change does not, nothing
// leaves the process that may not be read, and completions are those of work that was posted, each once and
// in order.
#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/verbs/soft/wire/progress.hpp"
#include "tests/fuzz/forged_packet.hpp"
#include "tests/fuzz/process.hpp"
#include "tests/fuzz/queue_pairs.hpp"

namespace rkv::soft {
namespace {

void change_memory(Input& input, Area& area) {
  switch (input.below(3)) {
    case 0:
      area.give_up();
      break;
    case 1:
      area.take_rights_away();
      break;
    default:
      area.register_again();
  }
}

void fuzz(std::span<const std::uint8_t> bytes) {
  static auto& process = *new Process;  // threads of the device's may outlive static destruction
  Input input(bytes);
  process.memory.fill();
  QueuePairs pairs(process, input);
  Forged last;
  const auto receive = [&](const Forged& forged) {
    wire::Progress::handle(forged.path, forged.datagram);
    last = forged;
  };
  while (!input.empty()) {
    switch (input.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        receive(forge_packet(input, pairs.any(input), process.memory, process.peer.path()));
        break;
      case 6:
        receive(Forged(last));  // once more
        break;
      case 7:
        receive(forge_bytes(input, process.peer.path()));
        break;
      case 8:
      case 9:
        pairs.post_send(input);
        break;
      case 10:
      case 11:
        pairs.post_receive(input);
        break;
      case 12:
        pairs.poll();
        break;
      case 13:
        pairs.pass_time(pairs.any(input));
        break;
      case 14:
        pairs.modify(input);
        break;
      default:
        if (input.below(2) == 0) {
          pairs.arm(input);
        } else {
          change_memory(input, process.memory.at(Memory::passing));
        }
    }
    process.peer.take_sent();
  }
  pairs.let_finish();
  pairs.fail();
  process.peer.take_sent();
  process.memory.check();
}

}  // namespace
}  // namespace rkv::soft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rkv::soft::fuzz(std::span(data, bytes));
  return 0;
}
