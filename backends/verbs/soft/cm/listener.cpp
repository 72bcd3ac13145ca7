#include "backends/verbs/soft/cm/listener.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "backends/verbs/soft/cm/identifier.hpp"

namespace rkv::soft::cm {
namespace {

constexpr std::uint64_t patience_ns = 10'000'000'000;  // with those who connect and say nothing
constexpr std::uint64_t pause_ns = 100'000'000;        // when there are no descriptors for more
constexpr std::size_t max_guests = 256;

}  // namespace

Listener::Guest::Guest(Listener& host, verbs::FileDescriptor socket)
    : host_(&host), stream_(std::make_unique<Stream>(std::move(socket), *this)) {}

int Listener::Guest::start() {
  const int error = stream_->watch();
  if (error == 0) stream_->set_deadline(patience_ns);
  return error;
}

void Listener::Guest::leave() {
  host_->guests_.remove_if([this](const auto& each) { return each.get() == this; });
}

bool Listener::Guest::on_message(const Message& message) {
  Identifier& listening = *host_->id_;
  if (message.kind != Kind::request || message.port_space != listening.ps) {
    leave();
    return false;
  }
  if (listening.waiting_requests() >= host_->backlog_) {
    Message refusal;
    refusal.kind = Kind::reject;
    refusal.port_space = message.port_space;
    refusal.reason = reject_reason::no_resources;
    stream_->send(refusal);
    leave();
    return false;
  }
  std::unique_ptr<Identifier> requested = Identifier::of_request(listening, message);
  if (requested == nullptr) {
    leave();
    return false;
  }
  requested->adopt(std::move(stream_));
  listening.announce(std::move(requested));
  leave();
  return true;
}

Listener::Listener(verbs::FileDescriptor socket, Identifier& id, std::size_t backlog)
    : socket_(std::move(socket)), id_(&id), backlog_(backlog) {}

Listener::~Listener() {
  Reactor::instance().unwatch(*this, socket_.get());
}

int Listener::start() {
  if (::listen(socket_.get(), SOMAXCONN) != 0) return errno;
  return Reactor::instance().watch(*this, socket_.get(), EPOLLIN);
}

void Listener::on_ready(std::uint32_t) {
  verbs::FileDescriptor connected(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connected.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      Reactor::instance().pause(socket_.get());
      Reactor::instance().set_deadline(*this, pause_ns);
    }
    return;
  }
  if (guests_.size() == max_guests) guests_.pop_front();  // whoever has been silent for longest
  guests_.push_back(std::make_unique<Guest>(*this, std::move(connected)));
  if (guests_.back()->start() != 0) guests_.pop_back();
}

void Listener::on_deadline() {
  Reactor::instance().resume(*this, socket_.get(), EPOLLIN);
}

}  // namespace rkv::soft::cm
