"""A peer written by hand, for what rkv-real would never do: frames of the control connection, bytes of data."""

import json
import socket
import struct

COMMON_GROUND = {"protocol": 5, "request_header_bytes": 32, "response_header_bytes": 16}
RESET = 5
OK = 0


class ControlPeer:
    def __init__(self, address, timeout_s):
        host, port = address.split(":")
        self.host = host
        self.timeout_s = timeout_s
        self.socket = socket.create_connection((host, int(port)), timeout=timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, message):
        text = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<I", len(text)) + text)

    def hello(self, message):
        self.send({"common_ground": COMMON_GROUND, **message})

    def receive(self):
        (length,) = struct.unpack("<I", receive_exactly(self.socket, 4))
        return json.loads(receive_exactly(self.socket, length))

    def dial_data(self, offer, client):
        """The data connection of this client of a TCP point."""
        data = socket.create_connection((self.host, offer["port"]), timeout=self.timeout_s)
        data.sendall(struct.pack("<QII", offer["token"], client, 0))
        return data


def receive_exactly(connection, size):
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise ConnectionError("hung up")
        received += more
    return received


def ask(data, client, method):
    """A request without key and value; gives the response's code."""
    data.sendall(struct.pack("<IIQIIHB5x", 0x31564B52, client, 1, 0, 0, 0, method))
    _, _, _, code, _ = struct.unpack("<QIHBB", receive_exactly(data, 16))
    return code


def empty_result(clients):
    """A result of so many clients that measured nothing."""
    nothing = dict.fromkeys(
        [
            "timeouts", "retries", "reconnections", "lost", "duplicates", "late_responses", "server_replays",
            "trace_overflow",
        ],
        0,
    )  # fmt: skip
    work = dict.fromkeys(
        ["served", "ignored", "rejected", "broken_sessions", "entries_walked", "bytes_copied", "store_entries"], 0
    )
    side = dict.fromkeys(
        ["threads", "voluntary_switches", "involuntary_switches", "cpu_time_ns", "thread_wall_time_ns"], 0
    )
    latency = {
        "sub_bucket_bits": 7, "counts": [], "out_of_range": 0, "min_ns": 0, "max_ns": 0, "sum_ns": "0",
        "sum_of_squares_ns2": "0",
    }  # fmt: skip
    gets = dict.fromkeys(["remembered", "asked", "stale"], 0)
    return {
        "clients": clients, "operations": [[0] * 5] * 5, "latency": latency, "per_client": [], **nothing,
        "direct_gets": gets,
        "check_violations": {"count": 0, "texts": []}, "server_work": work, "server": side, "client": side,
        "injected_faults": {}, "time_spent_ns": {}, "partial_reason": "", "window": None, "sampling": None,
        "other_way": None,
    }  # fmt: skip
