"""The timeline of threads and cards, and the trace of operations."""

import collections
import csv
import json

import program
from program import ProgramTest

PS_IN_US = 1_000_000


class Trace(ProgramTest):
    def timeline(self, clients, out="out"):
        return json.loads((self.folder / out / f"timeline_{clients}.json").read_text())

    def check_timeline(self, events):
        """Chrome's trace events: named rows of spans that do not overlap. Gives the names of a row's spans."""
        hosts = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        rows = {}
        spans = collections.defaultdict(list)
        for event in events:
            self.assertIn(event["ph"], "MX")
            if event["name"] == "thread_name":
                self.assertNotIn((event["pid"], event["tid"]), rows)
                rows[event["pid"], event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                begin, length = round(event["ts"] * PS_IN_US), round(event["dur"] * PS_IN_US)
                self.assertGreaterEqual(begin, 0)
                self.assertGreaterEqual(length, 0)
                spans[event["pid"], event["tid"]].append((begin, begin + length, event["name"]))
        self.assertEqual(set(spans) - set(rows), set(), "rows without a name")
        for row, of_row in spans.items():
            of_row.sort()
            for (_, end, what), (begin, _, next_what) in zip(of_row, of_row[1:]):
                self.assertLessEqual(end, begin, f"{what} and {next_what} on {rows[row]}")
        return {(hosts[host], rows[host, row]): {what for *_, what in s} for (host, row), s in spans.items()}

    def test_threads_and_cards(self):
        for transport in ("tcp", "rc", "uc", "ud"):
            with self.subTest(transport=transport):
                self.run_well(*self.simulation("--trace", "--out", transport, transport=transport))
                for clients in (1, 2):
                    rows = self.check_timeline(self.timeline(clients, transport))
                    running = {(host, what) for (host, row), names in rows.items() for what in names if "CPU" in row}
                    threads = {(side, f"{side} {n}") for side in ("server", "client") for n in range(clients)}
                    self.assertEqual({(host.split()[0], what) for host, what in running}, threads)
                    cards = {host.split()[0]: names for (host, row), names in rows.items() if "RNIC" in row}
                    if transport == "tcp":
                        self.assertEqual(cards, {})
                    else:
                        self.assertEqual(set(cards), {"server", "client"})
                        self.assertLessEqual(set().union(*cards.values()), {"send", "receive", "ack"})

    def test_threads_that_take_turns_on_a_cpu(self):
        fields = {"server": {"cores": [3]}, "clients": 4, "completion": {"mode": "busy"}}
        self.run_well(*self.simulation("--trace", "--out", "out", **fields))
        rows = self.check_timeline(self.timeline(4))
        servers = {row: names for (host, row), names in rows.items() if host == "server" and "CPU" in row}
        self.assertEqual(servers, {"CPU 3": {f"server {n}" for n in range(4)}})

    def test_without_trace_there_is_no_timeline(self):
        self.run_well(*self.simulation("--out", "out"))
        self.assertEqual([name for name in self.files() if "timeline" in name or "trace" in name], [])

    def test_every_operation(self):
        self.run_well(*self.simulation("--set", "trace=true", "--out", "out"))
        for point in self.report()["points"]:
            self.assertEqual(point["trace_file"], f"trace_{point['clients']}.csv")
            self.assertEqual(point["trace_overflow"], 0)
            with open(self.folder / "out" / point["trace_file"], newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), 200)
            methods = collections.Counter(row["method"] for row in rows)
            self.assertEqual(
                methods, {m: sum(codes.values()) for m, codes in point["operations_by_result"].items()}
            )
            latencies = [float(row["latency_us"]) for row in rows]
            self.assertAlmostEqual(min(latencies), point["latency_us"]["min"], places=3)
            self.assertAlmostEqual(max(latencies), point["latency_us"]["max"], places=3)
            for row, latency in zip(rows, latencies):
                self.assertEqual(int(row["received_ns"]) - int(row["sent_ns"]), round(latency * 1000))


if __name__ == "__main__":
    program.main()
