#include "backends/sim/run/interrupt.hpp"

#include <csignal>

namespace rkv::sim {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  noted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void note_interrupts() {
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

bool interrupted() {
  return noted != 0;
}

}  // namespace rkv::sim
