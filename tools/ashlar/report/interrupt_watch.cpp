#include "report/interrupt_watch.hpp"

#include <atomic>
#include <csignal>

namespace tool {

namespace {

std::atomic<bool> noted_interrupt = false;

void (*action_before_interrupts)(int) = SIG_DFL;

void note_interrupt(int) {
  noted_interrupt = true;
  std::signal(SIGINT, SIG_DFL);  // a second one ends the program
}

}  // namespace

interrupt_watch::interrupt_watch() {
  noted_interrupt = false;
  action_before_interrupts = std::signal(SIGINT, note_interrupt);
}

interrupt_watch::~interrupt_watch() { std::signal(SIGINT, action_before_interrupts); }

bool interrupt_watch::has_come() { return noted_interrupt; }

}  // namespace tool
