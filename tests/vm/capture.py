#!/usr/bin/python3
"""Captures the RoCEv2 packets that the kernel's driver sends while a command runs. For the virtual machine.

    capture.py INTERFACE OUT.pcap EACH COMMAND [ARGUMENT...]

Of each opcode of the base transport header the EACH first packets are kept, whole, with their Ethernet header; on the
loopback interface, where every packet passes twice, once each.
"""
import collections
import socket
import struct
import subprocess
import sys
import threading

ETHERNET_BYTES = 14
IPV4 = 0x0800
UDP = 17
ROCE_PORT = 4791
ETH_P_ALL = 3
LINKTYPE_ETHERNET = 1
FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_ETHERNET)


def opcode(frame):
    """Of a RoCEv2 packet over IPv4; None for any other frame."""
    if len(frame) < ETHERNET_BYTES + 20 or struct.unpack_from(">H", frame, 12)[0] != IPV4:
        return None
    udp = ETHERNET_BYTES + 4 * (frame[ETHERNET_BYTES] & 15)
    if frame[ETHERNET_BYTES + 9] != UDP or len(frame) < udp + 20:
        return None
    return frame[udp + 8] if struct.unpack_from(">H", frame, udp + 2)[0] == ROCE_PORT else None


def main(interface, out, each, command):
    kept, count = [], collections.Counter()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as tap:
        tap.bind((interface, 0))
        tap.settimeout(0.2)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        done = threading.Event()

        def listen():
            while True:
                try:
                    frame = tap.recv(65535)
                except TimeoutError:
                    if done.is_set():
                        return
                    continue
                code = opcode(frame)
                if code is not None and count[code] < each and frame not in kept:
                    count[code] += 1
                    kept.append(frame)

        listener = threading.Thread(target=listen)
        listener.start()
        status = subprocess.run(command, check=False).returncode
        done.set()
        listener.join()
    with open(out, "wb") as file:
        file.write(FILE_HEADER)
        for frame in kept:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
    print({f"{code:#04x}": number for code, number in sorted(count.items())}, file=sys.stderr)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
