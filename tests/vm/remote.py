#!/usr/bin/python3
"""Runs commands in the virtual machine for the other end of its network.

    remote.py serve                               in the machine: until it is told to stop
    remote.py run ADDRESS COMMAND [ARGUMENT...]   its output and exit status are this program's; it is killed when this is
    remote.py stop ADDRESS

There is nobody else on that network, so whoever asks is served. Exit status of run: 125 where the machine does not answer.
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading

PORT = 7471
CONNECT_S = 10
NO_ANSWER = 125
CANNOT_BE_RUN = 127


def serve_one(connection):
    """Runs the command that a connection asks for: its output, a zero byte, its exit status."""
    with connection, connection.makefile("r") as lines:
        command = json.loads(lines.readline())
        if not command:
            os._exit(0)
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=connection, stderr=connection, start_new_session=True
            )
        except OSError as error:
            connection.sendall(f"{error}\n\0{CANNOT_BE_RUN}".encode())
            return
        ended = os.pidfd_open(process.pid)
        ready, _, _ = select.select((connection, ended), (), ())
        os.close(ended)
        if connection in ready:  # it has nothing more to say but that it is gone
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        else:
            connection.sendall(f"\0{process.wait()}".encode())


def serve():
    with socket.create_server(("", PORT)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def ask(address, command):
    connection = socket.create_connection((address, PORT), timeout=CONNECT_S)
    connection.settimeout(None)
    connection.sendall(json.dumps(command).encode() + b"\n")
    return connection


def run(address, command):
    out = sys.stdout.buffer
    status = None
    try:
        with ask(address, command) as connection:
            while data := connection.recv(65536):
                said, zero, rest = data.partition(b"\0")
                if status is None:
                    out.write(said)
                    out.flush()
                    status = rest if zero else None
                else:
                    status += data
    except OSError as error:
        print(f"remote.py: {address}: {error}", file=sys.stderr)
    if not status:
        return NO_ANSWER
    code = int(status)
    return code if code >= 0 else 128 - code


def main(arguments):
    match arguments:
        case ["serve"]:
            serve()
        case ["run", address, _, *_]:
            return run(address, arguments[2:])
        case ["stop", address]:
            ask(address, []).close()
            return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
