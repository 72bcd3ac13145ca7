#include "backends/sim/net/tcp_connection.hpp"

#include "backends/sim/net/tcp.hpp"

namespace rkv::sim {

TcpConnection::TcpConnection(Tcp& tcp, Host& client, Host& server, std::uint16_t port)
    : tcp_(tcp),
      port_(port),
      client_{.host = client, .in = {tcp.way(server, client), *this}},
      server_{.host = server, .in = {tcp.way(client, server), *this}} {
  client_.out = &server_.in;
  server_.out = &client_.in;
}

void TcpConnection::close(TcpEnd& end, Thread* by) {
  end.out->signal(by, TcpFlow::Signal::closed);
}

void TcpConnection::release() {
  --holders_;
  end_if_unused();
}

void TcpConnection::settled(TcpFlow&) {
  end_if_unused();
}

void TcpConnection::end_if_unused() {
  if (holders_ == 0 && client_.in.idle() && server_.in.idle()) tcp_.end(*this);
}

TcpFlow::Connection::Receiver TcpConnection::receiver_of(const TcpFlow& flow) {
  const TcpEnd& end = receiving_end(flow);
  if (end.user == nullptr) return {.near = end.host.cpus().core(0), .sleeps = false};
  return {.near = end.user->core(), .sleeps = end.user->sleeps()};
}

void TcpConnection::arrived(TcpFlow& flow, TcpFlow::Signal signal) {
  TcpEnd& end = receiving_end(flow);
  switch (signal) {
    case TcpFlow::Signal::bytes:
      break;
    case TcpFlow::Signal::open:
      if (TcpListener* listener = tcp_.listener(end.host, port_)) {
        listener->enqueue(*this);
      } else {
        end.out->signal(nullptr, TcpFlow::Signal::refused);
      }
      break;
    case TcpFlow::Signal::accepted:
      state_ = State::open;
      break;
    case TcpFlow::Signal::refused:
      state_ = State::refused;
      break;
    case TcpFlow::Signal::closed:
      end.peer_gone = true;
      end.out->abandon();
      end.no_more_bytes = true;
      break;
    case TcpFlow::Signal::shut:
      end.no_more_bytes = true;
      break;
  }
  if (end.user != nullptr) end.user->on_arrival();
}

}  // namespace rkv::sim
