"""A simulation's report: what is in it, and that nothing but scenario, profile and seed decides about it."""

import datetime
import json
import math
import os
import platform

import program
from program import ProgramTest
from report_schema import schema_problems

# A sanitizer that can't follow SimGrid's other ways of switching actors: CMake names those it can.
FACTORIES = os.environ.get("RKV_TEST_CONTEXTS", "raw boost thread").split()


class Report(ProgramTest):
    def report_bytes(self, *arguments, out, **fields):
        self.run_well(*self.simulation("--out", out, *arguments, **fields))
        return (self.folder / out / "report.json").read_bytes()

    def test_a_simulation_over_every_transport_is_reported(self):
        for transport in ("tcp", "rc", "uc", "ud"):
            with self.subTest(transport=transport):
                out, err = self.run_well(*self.simulation("--out", transport, transport=transport))
                report = self.report(transport)
                self.assertEqual(schema_problems(report), [])
                self.assertEqual(err, "")
                self.assertEqual(report["backend"], "sim")
                self.assertEqual(report["scenario"]["transport"], transport)
                self.assertEqual([point["clients"] for point in report["points"]], [1, 2])
                for point in report["points"]:
                    self.assertFalse(point["partial"])
                    self.assertEqual(point["operations"], 200)
                    self.assertEqual(point["check_violations"]["count"], 0)
                    self.assertEqual(point["server_work"]["requests_served"], 200)
                    self.assertEqual(point["server"]["threads"], point["clients"])
                    self.assertEqual(point["client"]["threads"], point["clients"])
                    self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
                    self.assertTrue((self.folder / transport / point["histogram_file"]).stat().st_size > 0)
                    self.assertTrue(math.isclose(point["operations"] / point["measured_s"], point["throughput_ops_s"]))
                    for what in ("store", "wire", "program"):
                        self.assertGreater(point["time_spent_ns"][what], 0)
                    self.assertEqual("doorbell" in point["time_spent_ns"], transport != "tcp")
                self.assertIn(f"{transport}/report.json", out)
                lines = (self.folder / transport / "summary.csv").read_text().splitlines()
                self.assertEqual([line.split(",")[0] for line in lines], ["clients", "1", "2"])

    def test_the_profile_is_in_it_as_it_was_simulated(self):
        self.run_well(*self.simulation("--set-profile", "nic.uc.send_ns=123", "--without", "wakeup_latency", "--out", "out"))
        profile = self.report()["profile"]
        self.assertEqual(profile["name"], "das5")
        self.assertEqual(profile["nic"]["uc"]["send_ns"], 123)
        self.assertEqual(profile["server"]["scheduler"]["wakeup_latency_ns"], 0)
        # It is a profile itself, of the same simulation.
        (self.folder / "again.json").write_text(json.dumps(profile))
        path = self.folder / "small.json"
        self.run_well("--scenario", path, "--profile", self.folder / "again.json", "--out", "again")
        self.assertEqual(self.report("again"), self.report())

    def test_what_is_of_this_run_only_lies_beside_the_report(self):
        before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        self.run_well(*self.simulation("--out", "out"))
        after = datetime.datetime.now(datetime.timezone.utc)
        info = json.loads((self.folder / "out" / "run_info.json").read_text())
        self.assertEqual(
            set(info), {"host_name", "start_time", "wall_time_s", "program_version", "command_line", "machine"}
        )
        self.assertEqual(info["host_name"], platform.node())
        start = datetime.datetime.strptime(info["start_time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
        self.assertTrue(before <= start <= after)
        self.assertTrue(0 < info["wall_time_s"] <= (after - before).total_seconds() + 1)
        self.assertIn("--profile", info["command_line"])
        report = self.report()
        self.assertEqual(info["program_version"], report["program_version"])
        for name in ("start_time", "command_line", "machine", "device"):
            self.assertNotIn(name, report)

    def test_equal_runs_give_equal_bytes(self):
        for transport in ("tcp", "uc"):
            fields = {"transport": transport, "clients": [1, 2, 5]}
            one = self.report_bytes("--jobs", "1", out=f"{transport}-one", **fields)
            self.assertEqual(self.report_bytes("--jobs", "3", out=f"{transport}-three", **fields), one)
            self.assertEqual(self.report_bytes("--single-steps", out=f"{transport}-steps", **fields), one)
            self.assertEqual(self.report_bytes("--trace", out=f"{transport}-trace", **fields), one)
            self.assertEqual(self.report_bytes("--quiet", out=f"{transport}-quiet", **fields), one)
            for factory in FACTORIES:
                cfg = ["--cfg", f"contexts/factory:{factory}"]
                self.assertEqual(self.report_bytes(*cfg, out=f"{transport}-{factory}", **fields), one)

    def test_another_seed_another_report(self):
        one = self.report_bytes(out="one")
        self.report_bytes("--set", "seed=2", out="two")
        points = lambda out: [point["operations_by_result"] for point in self.report(out)["points"]]
        self.assertEqual(self.report("two")["seed"], 2)
        self.assertNotEqual(points("two"), points("one"))
        self.assertEqual(self.report_bytes("--set", "seed=1", out="three"), one)

    def test_a_slower_card_is_slower(self):
        self.run_well(*self.simulation("--out", "own"))
        self.run_well(*self.simulation("--set-profile", "network.link_latency_ns=100000", "--out", "far"))
        for near, far in zip(self.report("own")["points"], self.report("far")["points"]):
            # Two more ways of 100 us, less what they were before.
            self.assertGreater(far["latency_us"]["p50"], near["latency_us"]["p50"] + 190)

    def test_without_out_every_run_has_a_directory_of_its_own(self):
        for _ in range(2):
            self.run_well(*self.simulation("--quiet", clients=1))
        directories = list((self.folder / "results").iterdir())
        self.assertEqual(len(directories), 2)
        for directory in directories:
            self.assertTrue(directory.name.startswith("small-sim-"))
            self.assertEqual(schema_problems(json.loads((directory / "report.json").read_text())), [])

    def test_a_sweep_makes_a_report_each(self):
        sweep = {"load.window": [1, 4], "completion.mode": ["busy", "event"]}
        self.run_well(*self.simulation("--out", "out", clients=1, sweep=sweep))
        swept = set()
        for directory in (self.folder / "out").iterdir():
            scenario = json.loads((directory / "report.json").read_text())["scenario"]
            swept.add((scenario["load"]["window"], scenario["completion"]["mode"]))
        self.assertEqual(swept, {(w, m) for w in (1, 4) for m in ("busy", "event")})

    def test_quiet_says_nothing(self):
        out, err = self.run_well(*self.simulation("--quiet", "--out", "out"))
        self.assertEqual(out + err, "")


if __name__ == "__main__":
    program.main()
