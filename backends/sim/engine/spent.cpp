#include "backends/sim/engine/spent.hpp"

namespace rkv::sim {

std::string_view name(Spent where) {
  switch (where) {
    case Spent::program:
      return "program";
    case Spent::post:
      return "post";
    case Spent::poll:
      return "poll";
    case Spent::store:
      return "store";
    case Spent::kernel:
      return "kernel";
    case Spent::lock:
      return "lock";
    case Spent::doorbell:
      return "doorbell";
    case Spent::run_queue:
      return "run_queue";
    case Spent::wake_up:
      return "wake_up";
    case Spent::interrupt:
      return "interrupt";
    case Spent::nic_queue:
      return "nic_queue";
    case Spent::nic:
      return "nic";
    case Spent::context_miss:
      return "context_miss";
    case Spent::request_miss:
      return "request_miss";
    case Spent::translation_miss:
      return "translation_miss";
    case Spent::wire:
      return "wire";
    case Spent::receiver_not_ready:
      return "receiver_not_ready";
    case Spent::count_:
      break;
  }
  return "";
}

}  // namespace rkv::sim
