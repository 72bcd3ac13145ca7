#!/usr/bin/python3
"""packets_of.py CAPTURE FOLDER: writes each UDP datagram of a pcap file of Ethernet frames to a file of its own."""

import pathlib
import struct
import sys

ETHERNET_BYTES = 14
UDP_BYTES = 8
FILE_HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16


def frames(capture):
    """The frames of a little-endian pcap file."""
    at = FILE_HEADER_BYTES
    while at < len(capture):
        (length,) = struct.unpack_from("<I", capture, at + 8)
        yield capture[at + RECORD_HEADER_BYTES : at + RECORD_HEADER_BYTES + length]
        at += RECORD_HEADER_BYTES + length


capture, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
for number, frame in enumerate(frames(capture.read_bytes())):
    ipv4_bytes = (frame[ETHERNET_BYTES] & 15) * 4
    packet_at = ETHERNET_BYTES + ipv4_bytes + UDP_BYTES
    (udp_bytes,) = struct.unpack_from(">H", frame, packet_at - 4)
    (folder / f"packet{number}").write_bytes(frame[packet_at : packet_at - UDP_BYTES + udp_bytes])
