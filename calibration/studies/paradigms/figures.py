"""The figures of Hemmatpour, Montrucchio, Rebaudengo, "Communicating efficiently on cluster-based RDMA over InfiniBand
protocol" (Applied Sciences 8(11), 2018) that this study repeats: an entry of FIGURES each.

A figure has steps along an axis: numbers of clients, or values of fields of the scenario. It has series, each the
scenario with other values, and changes, which say what is different in all its series: other values, or mechanisms of
the model that are left out. The first change is none.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Series:
    """A curve: values over the scenario's, and fields that have no meaning in it, which changes pass over."""

    settings: dict
    ignores: tuple = ()


@dataclasses.dataclass(frozen=True)
class Change:
    """Values over the series' own, and mechanisms that the model leaves out; more of it for single series."""

    settings: dict = dataclasses.field(default_factory=dict)
    without: tuple = ()
    more: dict = dataclasses.field(default_factory=dict)

    def of(self, series):
        """What it is for a series."""
        more = self.more.get(series, Change())
        return Change(self.settings | more.settings, self.without + more.without)


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times the throughput of `slower` that of `faster` is, as published."""

    faster: str
    slower: str
    published: str


@dataclasses.dataclass(frozen=True)
class Axis:
    """What the steps of a figure are: values of all these fields, for one client, or without any, numbers of clients."""

    label: str
    fields: tuple = ()


CLIENTS = Axis("clients")


@dataclasses.dataclass(frozen=True)
class Figure:
    scenario: str
    steps: tuple
    compared_at: tuple  # steps
    series: dict
    ratios: tuple
    changes: dict = dataclasses.field(default_factory=lambda: {"as it is": Change()})
    drawn: tuple = ("as it is",)  # changes; the others are simulated at the steps that they are compared at
    # Published, the fastest first; those that share a place are not told apart, others are not placed.
    order: tuple = ()
    axis: Axis = CLIENTS


INLINED = {"queue_pair.inline_bytes": 64}
NOT_AWAITED = INLINED | {"queue_pair.await_send_completion": "false"}
# Clients of the first author's program (github.com/mashemat/Communication) clear each answer that they have READ by a
# WRITE, and await its completion: 2 us in this model. A pause of that length stands for it, without the costs of
# sleeping, since they poll meanwhile.
CLEARED = Change(
    {"load.think_time_us": 2}, ("wakeup_latency", "switch_cost", "wake_cost", "interrupt", "syscall", "migration")
)


def inlined_without(*mechanisms):
    """WRITEs and SENDs inlined, and these mechanisms left out."""
    return Change(INLINED, mechanisms)


SEND_SEND = {"exchange": "send_send", "queue_pair.receive_depth": 1}

# The patterns. With how many clients the published ratios hold is not known to us; that program has 8.
PATTERNS = Figure(
    scenario="rc_paradigms",
    steps=(1, 2, 4, 8, 16),
    compared_at=(8, 16),
    series={
        "WRITE-READ": Series({"exchange": "write_read"}),
        "WRITE-WRITE": Series({"exchange": "write_write"}),
        "READ-READ": Series({"exchange": "read_read"}, ignores=("queue_pair.inline_bytes",)),
        "READ-WRITE": Series({"exchange": "read_write"}),
        # That program's server posts a client's receive anew when it has seen to the others. Requests that come before
        # are sent again after 0.64 ms, so it takes a while until what happens is what goes on happening.
        "SEND-SEND": Series(SEND_SEND | {"queue_pair.receives_after_drain": "true", "load.duration_s": 0.2}),
        "SEND-SEND, receives at once": Series(SEND_SEND),
        "SOCKET-SOCKET": Series(
            {"transport": "tcp", "exchange": "socket_socket", "queue_pair": None}, ignores=("queue_pair", "device")
        ),
    },
    changes={
        "fetched by DMA": Change(),
        "inlined": Change(INLINED),
        "inlined, nothing awaited": Change(NOT_AWAITED),
        "inlined, answers cleared": Change(INLINED, more={"WRITE-READ": CLEARED, "READ-READ": CLEARED}),
        "inlined, without pcie": inlined_without("pcie"),
        "inlined, without link": inlined_without("link"),
        "inlined, without pcie, link": inlined_without("pcie", "link"),
        "inlined, without ack": inlined_without("ack"),
        "inlined, without receive_fetch": inlined_without("receive_fetch"),
        "inlined, without post_send, doorbell": inlined_without("post_send", "doorbell"),
        "inlined, nothing awaited, without post_send, doorbell": Change(NOT_AWAITED, ("post_send", "doorbell")),
        "inlined, without poll": inlined_without("poll"),
        "inlined, without post_receive": inlined_without("post_receive"),
        "inlined, without slot_look, slot_hit": inlined_without("slot_look", "slot_hit"),
    },
    drawn=("fetched by DMA", "inlined", "inlined, nothing awaited"),
    ratios=(
        Ratio("WRITE-READ", "WRITE-WRITE", "2.4"),
        Ratio("WRITE-READ", "READ-READ", "3.9"),
        Ratio("READ-READ", "READ-WRITE", "> 1"),
        Ratio("READ-WRITE", "SEND-SEND", "> 1"),
        Ratio("READ-WRITE", "SEND-SEND, receives at once", "> 1"),
        Ratio("READ-WRITE", "SOCKET-SOCKET", "> 1"),
        Ratio("WRITE-READ", "SOCKET-SOCKET", "up to 10"),
    ),
    order=(("WRITE-READ",), ("WRITE-WRITE",), ("READ-READ",), ("READ-WRITE",), ("SEND-SEND", "SOCKET-SOCKET")),
)


def operation(name, **settings):
    """One operation of verbs over and over. SENDs are received by one polling thread, as in the paper."""
    fields = {"verbs.operation": name} | ({"server.workers": 1} if name == "send" else {})
    return Series(fields | {path.replace("__", "."): value for path, value in settings.items()})


RUN = {"load__window": 16, "queue_pair__signal_interval": 16}
INLINE = {"queue_pair__inline_bytes": 64}
RECEIVES = {"queue_pair__receive_depth": 128}  # two of the longest runs

# One at a time: each operation is awaited.
SINGLE = {"WRITE": operation("write"), "READ": operation("read"), "SEND": operation("send")}
SINGLE_INLINED = {"WRITE, inlined": operation("write", **INLINE), "SEND, inlined": operation("send", **INLINE)}
SINGLE_UC = {"WRITE, UC": operation("write", transport="uc"), "SEND, UC": operation("send", transport="uc")}

# Operations one at a time, and runs of 16 of which one is signalled.
OPERATIONS = Figure(
    scenario="rc_verbs_clients",
    steps=(1, 2, 4, 8, 16),
    compared_at=(1, 8),
    series=SINGLE
    | SINGLE_INLINED
    | SINGLE_UC
    | {
        "SEND, one receive": operation("send", queue_pair__receive_depth=1),
        "WRITE, runs": operation("write", **RUN),
        "READ, runs": operation("read", **RUN),
        "SEND, runs": operation("send", **RUN, **RECEIVES),
        "WRITE, inlined, runs": operation("write", **INLINE, **RUN),
        "SEND, inlined, runs": operation("send", **INLINE, **RUN, **RECEIVES),
    },
    changes={
        "as it is": Change(),
        "without pcie": Change(without=("pcie",)),
        "without link": Change(without=("link",)),
        "without ack": Change(without=("ack",)),
        "without receive_fetch": Change(without=("receive_fetch",)),
        "without post_send, doorbell": Change(without=("post_send", "doorbell")),
        "without poll, post_receive": Change(without=("poll", "post_receive")),
    },
    ratios=(
        Ratio("WRITE", "READ", "> 1"),
        Ratio("WRITE, runs", "READ, runs", "> 1"),
        Ratio("READ, runs", "SEND, runs", "much > 1"),
        Ratio("READ", "SEND", "much > 1"),
        Ratio("READ", "SEND, one receive", "much > 1"),
        Ratio("WRITE, inlined, runs", "WRITE", "up to 4.9"),
        Ratio("SEND, inlined, runs", "SEND", "up to 4.9"),
        Ratio("WRITE, inlined", "WRITE", "> SEND's"),
        Ratio("SEND, inlined", "SEND", "> 1"),
        Ratio("WRITE, UC", "WRITE", "> 1"),
        Ratio("SEND, UC", "SEND", "> WRITE's"),
    ),
    order=(("WRITE",), ("READ",), ("SEND",)),
)

# One at a time, with more bytes.
BYTES = Axis("bytes", ("verbs.bytes",))
PAYLOAD = Figure(
    scenario="rc_verbs_payload",
    axis=BYTES,
    steps=(8, 64, 512, 4096, 65536),
    compared_at=(8, 65536),
    series=SINGLE,
    ratios=(Ratio("WRITE", "READ", "> 1"), Ratio("READ", "SEND", "much > 1")),
)
PAYLOAD_UC = Figure(
    scenario="uc_verbs_payload",
    axis=BYTES,
    steps=PAYLOAD.steps,
    compared_at=PAYLOAD.compared_at,
    series={
        "WRITE, UC": operation("write"),
        "SEND, UC": operation("send"),
        "WRITE": operation("write", transport="rc"),
        "SEND": operation("send", transport="rc"),
    },
    ratios=(Ratio("WRITE, UC", "WRITE", "> 1"), Ratio("SEND, UC", "SEND", "> WRITE's")),
)
INLINED_PAYLOAD = Figure(
    scenario="rc_verbs_inline",
    axis=BYTES,
    steps=(8, 16, 32, 64, 128, 256),
    compared_at=(8, 256),
    series={
        "WRITE": operation("write"),
        "WRITE, inlined": operation("write", queue_pair__inline_bytes=256),
        "SEND": operation("send"),
        "SEND, inlined": operation("send", queue_pair__inline_bytes=256),
    },
    ratios=(Ratio("WRITE, inlined", "WRITE", "> SEND's"), Ratio("SEND, inlined", "SEND", "> 1")),
)

# Runs of unsignalled requests, the last of each signalled; a window of one run.
A_RUN = Axis("requests a run", ("load.window", "queue_pair.signal_interval"))
RUNS_OF_EITHER = {
    "WRITE": operation("write"),
    "SEND": operation("send", **RECEIVES),
    "WRITE, inlined": operation("write", **INLINE),
    "SEND, inlined": operation("send", **INLINE, **RECEIVES),
}
RUNS = Figure(
    scenario="rc_verbs_runs",
    axis=A_RUN,
    steps=(1, 2, 4, 8, 16, 32, 64),
    compared_at=(16, 64),
    series=RUNS_OF_EITHER | {"READ": operation("read")},
    ratios=(Ratio("WRITE", "READ", "> 1"), Ratio("WRITE, inlined", "WRITE", "> 1")),
)
RUNS_UC = Figure(
    scenario="uc_verbs_runs",
    axis=A_RUN,
    steps=RUNS.steps,
    compared_at=RUNS.compared_at,
    series=RUNS_OF_EITHER,
    ratios=(Ratio("WRITE", "SEND", "> 1"), Ratio("WRITE, inlined", "WRITE", "> 1")),
)

# Atomic operations on random words. No ratio of them is known to us.
ATOMICS = Figure(
    scenario="rc_verbs_atomics",
    steps=(1, 2, 4, 8, 16),
    compared_at=(1, 16),
    series={
        "READ": operation("read"),
        "CAS": operation("compare_and_swap"),
        "FAA": operation("fetch_and_add"),
    },
    ratios=(Ratio("READ", "CAS", "?"), Ratio("READ", "FAA", "?")),
)

# PUTs into the store of 4 million keys.
PUT = Figure(
    scenario="rc_put",
    steps=(1, 2, 4, 8, 16),
    compared_at=(8, 16),
    series={
        "WRITE-READ": Series({"exchange": "write_read"}),
        "WRITE-WRITE": Series({"exchange": "write_write"}),
        "WRITE-READ, Zipf": Series({"exchange": "write_read", "keys.distribution": "zipf"}),
        "WRITE-WRITE, Zipf": Series({"exchange": "write_write", "keys.distribution": "zipf"}),
    },
    ratios=(
        Ratio("WRITE-READ", "WRITE-WRITE", "up to 7"),
        Ratio("WRITE-READ, Zipf", "WRITE-WRITE, Zipf", "up to 7"),
    ),
    order=(("WRITE-READ", "WRITE-READ, Zipf"), ("WRITE-WRITE", "WRITE-WRITE, Zipf")),
)

# GETs, and one SET to 19 of them, from the store of 4 million keys, by Zipf. The paper's asks where an item lies and READs
# it; no ratio of it is known to us.
GET = Figure(
    scenario="rc_get_directly",
    steps=(1, 4, 16, 64),
    compared_at=(16, 64),
    series={
        "asked for, then READ": Series({"store.client_pointers": 0}),
        "READ where it is remembered": Series({}),
        "the same, 1 % SETs": Series({"operations.get": 0.99, "operations.set": 0.01}),
        "answered by the server": Series({"store.kind": "cuckoo", "store.client_pointers": None}),
    },
    ratios=(
        Ratio("READ where it is remembered", "asked for, then READ", "?"),
        Ratio("the same, 1 % SETs", "READ where it is remembered", "?"),
        Ratio("the same, 1 % SETs", "answered by the server", "?"),
    ),
)

FIGURES = {
    "payload": PAYLOAD,
    "payload, UC": PAYLOAD_UC,
    "inlined": INLINED_PAYLOAD,
    "runs": RUNS,
    "runs, UC": RUNS_UC,
    "operations": OPERATIONS,
    "atomics": ATOMICS,
    "patterns": PATTERNS,
    "put": PUT,
    "get": GET,
}
