"""A run's directory: what is in it, and that nothing is ever overwritten."""

import datetime
import json
import math
import platform

import program
from program import ProgramTest
from report_schema import schema_problems


class Report(ProgramTest):
    def test_a_run_over_every_transport_is_reported(self):
        for transport in ("tcp", "rc", "uc", "ud"):
            with self.subTest(transport=transport):
                out, err = self.run_well("--scenario", self.scenario(transport=transport), "--out", transport)
                report = self.report(transport)
                self.assertEqual(schema_problems(report), [])
                self.assertEqual(report["scenario"]["transport"], transport)
                self.assertEqual(report["device"] == {}, transport == "tcp")
                self.assertEqual("device auto: " in err, transport != "tcp")
                self.assertEqual([point["clients"] for point in report["points"]], [1, 2])
                for point in report["points"]:
                    self.assertFalse(point["partial"])
                    self.assertEqual(point["operations"], 200)
                    self.assertEqual(point["check_violations"]["count"], 0)
                    self.assertEqual(point["server_work"]["requests_served"], 200)
                    self.assertEqual(point["server_work"]["messages_rejected"], 0)
                    self.assertEqual(point["server"]["threads"], point["clients"])
                    self.assertEqual(point["client"]["threads"], point["clients"])
                    self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
                    self.assertTrue((self.folder / transport / point["histogram_file"]).stat().st_size > 0)
                    self.assertTrue(math.isclose(point["operations"] / point["measured_s"], point["throughput_ops_s"]))
                self.assertIn("checked: 400 responses, 0 wrong", out)
                self.assertIn(f"{transport}/report.json", out)
                lines = (self.folder / transport / "summary.csv").read_text().splitlines()
                self.assertEqual([line.split(",")[0] for line in lines], ["clients", "1", "2"])

    def test_the_schema_check_of_this_test_sees_mistakes(self):
        self.run_well("--scenario", self.scenario(clients=1), "--out", "out")
        report = self.report()
        del report["points"][0]["server_work"]["messages_rejected"]
        report["points"][0]["retries"] = -1
        report["more"] = 1
        self.assertEqual(len(schema_problems(report)), 3)
        for change in ({"profile": {}}, {"machine": None}):
            report = self.report()
            report.update(change)
            report = {name: value for name, value in report.items() if value is not None}
            self.assertEqual(schema_problems(report), [": follows none of the alternatives"])

    def test_what_is_of_this_run_only_lies_beside_the_report(self):
        before = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        self.run_well("--scenario", self.scenario(), "--out", "out")
        after = datetime.datetime.now(datetime.timezone.utc)
        report = self.report()
        info = json.loads((self.folder / "out" / "run_info.json").read_text())
        self.assertEqual(
            set(info), {"host_name", "start_time", "wall_time_s", "program_version", "command_line", "machine"}
        )
        self.assertEqual(info["host_name"], platform.node())
        start = datetime.datetime.strptime(info["start_time"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
        self.assertTrue(before <= start <= after)
        self.assertGreaterEqual(info["wall_time_s"], sum(point["measured_s"] for point in report["points"]))
        for same in ("start_time", "program_version", "command_line", "machine"):
            self.assertEqual(info[same], report[same])

    def test_without_out_every_run_has_a_directory_of_its_own(self):
        path = self.scenario(clients=1)
        for _ in range(3):
            self.run_well("--scenario", path, "--quiet")
        directories = list((self.folder / "results").iterdir())
        self.assertEqual(len(directories), 3)
        for directory in directories:
            self.assertTrue(directory.name.startswith("small-"))
            self.assertEqual(schema_problems(json.loads((directory / "report.json").read_text())), [])

    def test_results_that_exist_stay_as_they_are(self):
        path = self.scenario(clients=1)
        self.run_well("--scenario", path, "--out", "out")
        before = {name: (self.folder / name).read_bytes() for name in self.files()}
        code, _, err = self.run_program("--scenario", path, "--out", "out")
        self.assertEqual(code, 2)
        self.assertIn("never overwritten", err)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in self.files()}, before)

    def test_overrides_and_client_counts(self):
        self.run_well(
            "--scenario", self.scenario(), "--set", "load.total_operations=60", "--set", "/load/window=2",
            "--clients", "3,1", "--out", "out",
        )  # fmt: skip
        report = self.report()
        self.assertEqual(report["scenario"]["load"]["window"], 2)
        self.assertEqual([(p["clients"], p["operations"]) for p in report["points"]], [(3, 60), (1, 60)])
        self.assertIn("--clients", report["command_line"])

    def test_a_sweep_makes_a_report_each(self):
        path = self.scenario(clients=1, sweep={"load.window": [1, 4], "completion.mode": ["event", "event_batch"]})
        (self.folder / "out").mkdir()
        (self.folder / "out" / "notes.txt").write_text("of earlier runs")
        self.run_well("--scenario", path, "--out", "out")
        directories = [d for d in (self.folder / "out").iterdir() if d.is_dir()]
        self.assertEqual(len(directories), 4)
        swept = set()
        for directory in directories:
            scenario = json.loads((directory / "report.json").read_text())["scenario"]
            swept.add((scenario["load"]["window"], scenario["completion"]["mode"]))
        self.assertEqual(swept, {(w, m) for w in (1, 4) for m in ("event", "event_batch")})

    def test_traces(self):
        for ending in ("csv", "bin"):
            self.run_well("--scenario", self.scenario(clients=2), "--trace", ending, "--out", ending)
            point = self.report(ending)["points"][0]
            self.assertEqual(point["trace_file"], f"trace_2.{ending}")
            self.assertEqual(point["trace_overflow"], 0)
        self.assertEqual(len((self.folder / "csv" / "trace_2.csv").read_text().splitlines()), 201)
        self.assertEqual((self.folder / "bin" / "trace_2.bin").stat().st_size, 40 + 200 * 40)

    def test_quiet_says_nothing(self):
        out, err = self.run_well("--scenario", self.scenario(transport="uc"), "--quiet", "--out", "out")
        self.assertEqual(out + err, "")

    def test_injected_faults_are_told(self):
        faults = {"RKV_SOFT_SEED": "5", "RKV_SOFT_DROP": "0.05"}
        path = self.scenario(transport="ud", clients=[1, 2], retry={"timeout_ms": 20})
        self.run_well("--scenario", path, "--device", "soft0", "--out", "out", environment=faults)
        for point in self.report()["points"]:
            self.assertGreater(point["injected_faults"]["drop"], 0)
            self.assertGreaterEqual(point["timeouts"], point["injected_faults"]["drop"])
            self.assertEqual(point["operations"], 200)
        self.assertEqual(schema_problems(self.report()), [])
        self.run_well("--scenario", path, "--device", "soft0", "--out", "sound")
        self.assertEqual(self.report("sound")["points"][0]["injected_faults"], {})


if __name__ == "__main__":
    program.main()
