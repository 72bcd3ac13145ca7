// A context's command descriptor (ibv_context.cmd_fd). Behind a real device's is the kernel's side of it;
// soft0 has no such side, but programs duplicate the descriptor, pass it on, or hand it to
// ibv_import_device(), so it is a real one that can be told from others: an empty file in memory.
#pragma once

namespace rkv::soft {

class CommandDescriptor {
 public:
  // On failure fd() is -1 and errno says why.
  CommandDescriptor();
  ~CommandDescriptor();
  CommandDescriptor(const CommandDescriptor&) = delete;
  CommandDescriptor& operator=(const CommandDescriptor&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  // Whether a descriptor is one of these or a duplicate of one, of this process or another.
  [[nodiscard]] static bool is_one(int fd);

 private:
  int fd_;
};

}  // namespace rkv::soft
