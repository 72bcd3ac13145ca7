"""RoCEv2 packets in capture files: their ICRC, and what may be wrong with one."""

import pathlib
import struct
import zlib

ETHERNET_BYTES = 14
IPV4_BYTES = 20
UDP_AT = ETHERNET_BYTES + IPV4_BYTES
BASE_AT = UDP_AT + 8  # the base transport header
ICRC_BYTES = 4
LITTLE_ENDIAN = (0xA1B2C3D4, 0xA1B23C4D)  # time stamps in us, in ns
ETHERNET = 1


def read_capture(path):
    """The frames of a pcap file."""
    data = pathlib.Path(path).read_bytes()
    if struct.unpack_from("<I", data)[0] not in LITTLE_ENDIAN:
        raise ValueError(f"{path} is no pcap file of this machine")
    frames, at = [], 24
    while at < len(data):
        captured = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16 : at + 16 + captured])
        at += 16 + captured
    return frames


def write_capture(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", LITTLE_ENDIAN[0], 2, 4, 0, 0, 65535, ETHERNET))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def icrc(frame):
    """What the last four bytes must be. Source: InfiniBand Architecture Specification, volume 1, annex A17.3.3."""
    packet = bytearray(frame[ETHERNET_BYTES:-ICRC_BYTES])
    udp, base = UDP_AT - ETHERNET_BYTES, BASE_AT - ETHERNET_BYTES
    for at in (1, 8, 10, 11, udp + 6, udp + 7, base + 4):  # type of service, time to live, checksums, congestion
        packet[at] = 0xFF
    return zlib.crc32(bytes(8 * [0xFF]) + packet).to_bytes(ICRC_BYTES, "little")


def changed(frame, at, value):
    """With another byte, counted from the base transport header, and all that depends on it."""
    other = bytearray(frame)
    other[BASE_AT + at] = value
    other[-ICRC_BYTES:] = icrc(other)
    return bytes(other)


def from_port(frame, port):
    """As sent from another source port."""
    source = UDP_AT - BASE_AT
    return changed(changed(frame, source, port >> 8), source + 1, port & 0xFF)


def cut_short(frame):
    """Without what is behind the base transport header, as if the packet had been sent so."""
    other = bytearray(frame[: BASE_AT + 12 + ICRC_BYTES])
    struct.pack_into(">H", other, ETHERNET_BYTES + 2, len(other) - ETHERNET_BYTES)
    struct.pack_into(">H", other, UDP_AT + 4, len(other) - UDP_AT)
    other[-ICRC_BYTES:] = icrc(other)
    return bytes(other)


def damaged(frame):
    """What is wrong with it, and the frame: of an RDMA WRITE in one packet."""
    last = bytearray(frame)
    last[-1] ^= 1
    return {
        "ICRC": bytes(last),
        "unknown opcode": changed(frame, 0, 0x1F),
        "header version": changed(frame, 1, frame[BASE_AT + 1] | 1),
        "pad count": changed(frame, 1, frame[BASE_AT + 1] ^ 0x10),
        "other partition": changed(frame, 2, 0x12),
        "reserved bits": changed(frame, 4, 0x01),
        "more reserved bits": changed(frame, 8, frame[BASE_AT + 8] | 1),
        "no RDMA header": cut_short(frame),
        "cut off by the capture": frame[: BASE_AT + 20],
        "not RoCEv2": frame[: UDP_AT + 2] + b"\0\1" + frame[UDP_AT + 4 :],
    }
