// A listening socket, and those who have connected to it and not yet said what they want. Everything wants
// the reactor's mutex held.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "backends/verbs/port/file_descriptor.hpp"
#include "backends/verbs/soft/cm/reactor.hpp"
#include "backends/verbs/soft/cm/stream.hpp"

namespace rkv::soft::cm {

class Identifier;

class Listener final : public Source {
 public:
  // `backlog` is how many requests may wait for the application.
  Listener(verbs::FileDescriptor socket, Identifier& id, std::size_t backlog);
  ~Listener() override;
  // Of a bound socket. 0, or errno.
  int start();

  void on_ready(std::uint32_t events) override;
  void on_deadline() override;

 private:
  // A connection without a request so far.
  class Guest final : public StreamOwner {
   public:
    Guest(Listener& host, verbs::FileDescriptor socket);
    int start();

   private:
    void on_connected(int) override {}
    bool on_message(const Message& message) override;
    void on_closed(int) override { leave(); }
    void on_deadline() override { leave(); }
    void leave();

    Listener* host_;
    std::unique_ptr<Stream> stream_;
  };

  verbs::FileDescriptor socket_;
  Identifier* id_;
  std::size_t backlog_;
  std::list<std::unique_ptr<Guest>> guests_;
};

}  // namespace rkv::soft::cm
