#!/usr/bin/python3
"""Two queue pairs of RC at two devices, one of which asks for what the other carries out or refuses: data and errors.

    peer.py serve DEVICE GID_INDEX PORT
    peer.py ask DEVICE GID_INDEX PORT ADDRESS     what was not as it must be is its output, and exit status 1

The server does what it is told over TCP, a line of JSON each way.
"""
import json
import random
import socket
import sys
import threading
import time

from pyverbs import enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

BYTES = 100_000
ACCESS = (
    e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
)
MTU = e.IBV_MTU_1024
LENGTHS = (0, 1, 3, 1023, 1024, 1025, 5000, 65537)
FIRST_PSN = 0xFFFFF0  # so that sequence numbers begin again at 0 in every case
RNR_TIMER = 12  # 0.64 ms
FOR_EVER = 7
WAIT_S = 30


class End:
    """A device with memory and, one after the other, queue pairs."""

    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = gid_index
        self.domain = PD(self.context)
        self.memory = MR(self.domain, BYTES, ACCESS)
        self.queue = CQ(self.context, 64)
        self.pair = None

    def open(self):
        """A new queue pair; what the other end must know of it."""
        if self.pair is not None:
            self.pair.close()
        room = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1)
        wanted = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.queue, rcq=self.queue, cap=room)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        self.pair = QP(self.domain, wanted, attributes)
        gid = self.context.query_gid(1, self.gid_index).gid
        return {"number": self.pair.qp_num, "gid": gid, "address": self.memory.buf, "key": self.memory.rkey}

    def connect(self, peer, rnr_retries=FOR_EVER):
        route = GlobalRoute(dgid=GID(peer["gid"]), sgid_index=self.gid_index)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attributes.dest_qp_num = peer["number"]
        attributes.path_mtu = MTU
        attributes.rq_psn = attributes.sq_psn = FIRST_PSN
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4
        attributes.min_rnr_timer = RNR_TIMER
        attributes.timeout = 14
        attributes.retry_cnt = 7
        attributes.rnr_retry = rnr_retries
        self.pair.to_rts(attributes)

    def receive(self, length):
        self.pair.post_recv(RecvWR(num_sge=1, sg=[SGE(self.memory.buf, length, self.memory.lkey)]))

    def post(self, opcode, length, immediate=0, rdma=None, atomic=None):
        """A request with the memory's first bytes; the status that it ends with."""
        segment = SGE(self.memory.buf, length, self.memory.lkey)
        request = SendWR(
            opcode=opcode, num_sge=1, imm_data=immediate, sg=[segment], send_flags=e.IBV_SEND_SIGNALED
        )
        if rdma:
            request.set_wr_rdma(*rdma)
        if atomic:
            request.set_wr_atomic(*atomic)
        self.pair.post_send(request)
        return self.completion().status

    def completion(self):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            count, found = self.queue.poll(1)
            if count:
                return found[0]
        raise TimeoutError("no completion")


class Server:
    """What the other side asks of this one."""

    def __init__(self, end):
        self.end = end

    def open(self):
        return self.end.open()

    def connect(self, peer):
        self.end.connect(peer)

    def receive(self, length, after_s=0):
        threading.Timer(after_s, self.end.receive, (length,)).start()

    def completion(self):
        found = self.end.completion()
        return {"status": found.status, "bytes": found.byte_len, "immediate": found.imm_data}

    def write(self, at, text):
        data = bytes.fromhex(text)
        self.end.memory.write(data, len(data), at)

    def read(self, at, length):
        return self.end.memory.read(length, at).hex()


def serve(end, port):
    server = Server(end)
    with socket.create_server(("", port)) as listening:
        connection, _ = listening.accept()
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            name, *arguments = json.loads(line)
            print(json.dumps(getattr(server, name)(*arguments)), file=lines, flush=True)


class Asker:
    """The cases. Each makes its own connections."""

    def __init__(self, end, lines):
        self.end = end
        self.lines = lines
        self.peer = None
        self.wrong = 0

    def tell(self, *command):
        print(json.dumps(command), file=self.lines, flush=True)
        return json.loads(self.lines.readline())

    def connect(self, rnr_retries=FOR_EVER):
        self.peer = self.tell("open")
        self.tell("connect", self.end.open())
        self.end.connect(self.peer, rnr_retries)

    def expect(self, what, got, *wanted):
        if got not in wanted:
            self.wrong += 1
            print(f"{what}: {got!r:.80}, not {wanted!r:.80}")

    def where(self, at=0):
        """The other end's memory, as RDMA requests have it."""
        return self.peer["key"], self.peer["address"] + at

    def fill(self, length):
        data = random.Random(length).randbytes(length)
        if length:
            self.end.memory.write(data, length)
        return data

    def written(self):
        for length in LENGTHS:
            self.connect()
            data = self.fill(length)
            status = self.end.post(e.IBV_WR_RDMA_WRITE, length, rdma=self.where(at=1))
            self.expect(f"WRITE of {length}", status, e.IBV_WC_SUCCESS)
            self.expect(f"WRITE of {length}, its data", self.tell("read", 1, length), data.hex())

    def read(self):
        for length in LENGTHS:
            self.connect()
            data = random.Random(~length).randbytes(length)
            self.tell("write", 3, data.hex())
            status = self.end.post(e.IBV_WR_RDMA_READ, length, rdma=self.where(at=3))
            self.expect(f"READ of {length}", status, e.IBV_WC_SUCCESS)
            self.expect(f"READ of {length}, its data", self.end.memory.read(length, 0).hex(), data.hex())

    def sent(self):
        self.connect()
        for opcode, rdma in (
            (e.IBV_WR_SEND, None),
            (e.IBV_WR_SEND_WITH_IMM, None),
            (e.IBV_WR_RDMA_WRITE_WITH_IMM, self.where()),
        ):
            for length in LENGTHS:
                what = f"opcode {opcode} of {length}"
                self.tell("receive", BYTES)
                data = self.fill(length)
                self.expect(what, self.end.post(opcode, length, 0x01020304, rdma), e.IBV_WC_SUCCESS)
                found = self.tell("completion")
                self.expect(what, (found["status"], found["bytes"]), (e.IBV_WC_SUCCESS, length))
                if opcode != e.IBV_WR_SEND:
                    self.expect(what, found["immediate"], 0x01020304)
                self.expect(f"{what}, its data", self.tell("read", 0, length), data.hex())

    def atomics(self):
        self.connect()
        for opcode, start, arguments, after in (
            (e.IBV_WR_ATOMIC_FETCH_AND_ADD, 40, (2, 0), 42),
            (e.IBV_WR_ATOMIC_FETCH_AND_ADD, 2**64 - 1, (3, 0), 2),
            (e.IBV_WR_ATOMIC_CMP_AND_SWP, 7, (7, 2**63), 2**63),
            (e.IBV_WR_ATOMIC_CMP_AND_SWP, 7, (8, 9), 7),
        ):
            self.tell("write", 8, start.to_bytes(8, "little").hex())
            status = self.end.post(opcode, 8, atomic=(*self.where(at=8), *arguments))
            self.expect(f"atomic {opcode}", status, e.IBV_WC_SUCCESS)
            self.expect(f"atomic {opcode}, its result", int.from_bytes(self.end.memory.read(8, 0), "little"), start)
            self.expect(f"atomic {opcode}, its effect", self.tell("read", 8, 8), after.to_bytes(8, "little").hex())

    def refused(self):
        key, address = self.peer["key"], self.peer["address"]
        for opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            for what, where in (("key", (key ^ 0x5555, address)), ("range", (key, address + BYTES - 4))):
                self.connect()
                status = self.end.post(opcode, 8, rdma=where)
                self.expect(f"opcode {opcode} with a bad {what}", status, e.IBV_WC_REM_ACCESS_ERR)
        self.connect()
        status = self.end.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, atomic=(key ^ 0x5555, address, 1, 0))
        self.expect("atomic with a bad key", status, e.IBV_WC_REM_ACCESS_ERR)

    def not_ready(self):
        self.connect(rnr_retries=2)
        self.expect("SEND without a receive", self.end.post(e.IBV_WR_SEND, 8), e.IBV_WC_RNR_RETRY_EXC_ERR)
        self.connect()
        self.tell("receive", BYTES, 0.2)
        self.expect("SEND before its receive", self.end.post(e.IBV_WR_SEND, 3000), e.IBV_WC_SUCCESS)
        self.expect("SEND before its receive, its length", self.tell("completion")["bytes"], 3000)

    def too_long(self):
        self.connect()
        self.tell("receive", 2000)
        # The specification's, and what the kernel says
        wanted = (e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_REM_OP_ERR)
        self.expect("SEND longer than its receive", self.end.post(e.IBV_WR_SEND, 3000), *wanted)


def reach(address, port):
    """A connection to the server, which may not listen yet."""
    end = time.monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection((address, port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def ask(end, port, address):
    with reach(address, port) as connection, connection.makefile("rw") as lines:
        asker = Asker(end, lines)
        asker.written()
        asker.read()
        asker.sent()
        asker.atomics()
        asker.refused()
        asker.not_ready()
        asker.too_long()
    return 1 if asker.wrong else 0


if __name__ == "__main__":
    role, name, index, number, *rest = sys.argv[1:]
    own = End(name, int(index))
    sys.exit(serve(own, int(number)) if role == "serve" else ask(own, int(number), *rest))
