#include "backends/sim/net/tcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace rkv::sim {

TcpListener::TcpListener(Tcp& tcp, Host& host, std::uint32_t backlog)
    : tcp_(tcp),
      host_(host),
      backlog_(std::max<std::uint32_t>(backlog, 1)),
      port_(tcp.add_listener(host, *this)) {}

TcpListener::~TcpListener() {
  tcp_.remove_listener(host_, port_);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    TcpConnection& connection = *queue_[i];
    if (i < answered_) {
      TcpConnection::close(connection.server(), nullptr);
    } else {
      connection.server().out->signal(nullptr, TcpFlow::Signal::refused);
    }
    connection.release();
  }
}

void TcpListener::enqueue(TcpConnection& connection) {
  connection.hold();
  queue_.push_back(&connection);
  answer();
  for (Thread* thread : watchers_) thread->signal();
}

TcpConnection* TcpListener::accept() {
  if (queue_.empty()) return nullptr;
  TcpConnection* connection = queue_.front();
  queue_.pop_front();
  --answered_;
  answer();
  return connection;
}

void TcpListener::answer() {
  while (answered_ < std::min<std::size_t>(queue_.size(), backlog_)) {
    queue_[answered_++]->server().out->signal(nullptr, TcpFlow::Signal::accepted);
  }
}

void TcpListener::forget(Thread& thread) {
  watchers_.erase(std::find(watchers_.begin(), watchers_.end(), &thread));
}

Tcp::Tcp(World& world, Network& network, const TcpProfile& profile, std::vector<Host*> hosts)
    : world_(world),
      network_(network),
      profile_(profile),
      hosts_(std::move(hosts)),
      last_ports_(hosts_.size()) {
  for (const Host* host : hosts_) costs_.emplace_back(profile_, host->costs());
}

Host* Tcp::host(std::string_view name) const {
  const auto found =
      std::find_if(hosts_.begin(), hosts_.end(), [&](const Host* h) { return h->name() == name; });
  return found == hosts_.end() ? nullptr : *found;
}

TcpConnection& Tcp::make_connection(Host& client, Host& server, std::uint16_t port) {
  return connections_.emplace_back(*this, client, server, port);
}

TcpFlow::Way Tcp::way(const Host& from, Host& to) {
  return {.world = world_,
          .network = network_,
          .tcp = profile_,
          .costs_at_receiver = costs(to),
          .from_host = from.number(),
          .to = to};
}

void Tcp::end(const TcpConnection& connection) {
  connections_.remove_if([&](const TcpConnection& other) { return &other == &connection; });
}

TcpListener* Tcp::listener(const Host& host, std::uint16_t port) const {
  const auto found = listeners_.find({host.number(), port});
  return found == listeners_.end() ? nullptr : found->second;
}

std::uint16_t Tcp::add_listener(const Host& host, TcpListener& listener) {
  std::uint16_t& last = last_ports_[host.number()];
  if (last == std::numeric_limits<std::uint16_t>::max()) {
    throw Error(fmt::format("{}: all {} TCP ports were listened on in this simulation", host.name(), last));
  }
  ++last;
  listeners_[{host.number(), last}] = &listener;
  return last;
}

void Tcp::remove_listener(const Host& host, std::uint16_t port) {
  listeners_.erase({host.number(), port});
}

}  // namespace rkv::sim
