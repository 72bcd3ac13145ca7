"""Ctrl-C, SIGTERM and SIGKILL in the middle of a run: what was measured is kept."""

import json
import shutil
import signal

import program
from program import ENDLESS, ProgramTest, interrupt


class Interrupted(ProgramTest):
    def begun(self, *arguments, **fields):
        """A run in the middle of its only, endless point."""
        return self.under_way(self.scenario(**{**ENDLESS, "clients": 2, **fields}), *arguments)

    def test_ctrl_c_on_every_transport_and_mode(self):
        for transport in ("tcp", "rc", "uc", "ud"):
            for mode in ("busy", "event", "hybrid"):
                with self.subTest(transport=transport, mode=mode):
                    process = self.begun(transport=transport, completion={"mode": mode}, clients=1)
                    interrupt(process)
                    point = self.ends_interrupted(process)
                    self.assertEqual(point["server"]["threads"], 1)
                    shutil.rmtree(self.folder / "out")

    def test_the_thesis_own_tcp_server(self):
        process = self.begun(socket={"server_wait": "select"})
        interrupt(process)
        self.assertGreater(self.ends_interrupted(process)["operations"], 0)

    def test_sigterm_is_the_same(self):
        process = self.begun()
        process.send_signal(signal.SIGTERM)
        self.assertGreater(self.ends_interrupted(process)["operations"], 0)

    def test_clients_that_sleep_are_woken(self):
        process = self.begun(load={"duration_s": 1800, "think_time_us": 60_000_000})
        interrupt(process)
        self.ends_interrupted(process)

    def test_clients_that_have_not_started_are_woken(self):
        process = self.begun(load={"duration_s": 1800, "connect_pause_ms": 600_000})
        interrupt(process)
        self.assertEqual(self.ends_interrupted(process)["operations"], 0)

    def test_waiting_for_responses_that_never_come(self):
        faults = {"RKV_SOFT_DROP": "1"}
        process = self.start(
            "--scenario", self.scenario(transport="uc", **ENDLESS, clients=1), "--device", "soft0", "--out", "out",
            environment=faults,
        )  # fmt: skip
        self.wait_for_point(0)
        interrupt(process)
        self.assertEqual(self.finish(process)[0], 130)

    def test_a_sweep_is_not_continued(self):
        path = self.scenario(**ENDLESS, clients=1, sweep={"load.window": [1, 2]})
        process = self.start("--scenario", path, "--out", "out")
        # An empty report.json is only the claim on the directory.
        reports = lambda: [path for path in self.folder.glob("out/*/report.json") if path.stat().st_size > 0]
        self.wait_until(reports, "the first report")
        interrupt(process)
        self.assertEqual(self.finish(process)[0], 130)
        self.assertEqual(len(list(self.folder.glob("out/*/report.json"))), 1)

    def test_kill_in_the_second_point_leaves_the_first(self):
        # The second point has so many operations that it never ends.
        path = self.scenario(transport="uc", clients=[1, 2], load={"duration_s": 0.3, "start_stagger_ms": 600_000})
        process = self.start("--scenario", path, "--out", "out")
        self.wait_for_point(1)
        process.kill()
        self.finish(process)
        (point,) = self.report()["points"]
        self.assertFalse(point["partial"])
        self.assertGreater(point["operations"], 0)
        self.assertTrue((self.folder / "out" / point["histogram_file"]).exists())
        self.assertEqual(len((self.folder / "out" / "summary.csv").read_text().splitlines()), 2)

    def test_kill_in_the_first_point_leaves_a_report_of_none(self):
        process = self.begun()
        process.kill()
        self.finish(process)
        self.assertEqual(self.report()["points"], [])
        self.assertEqual(self.report()["scenario"]["name"], "small")

    def test_a_server_nobody_calls_is_interrupted(self):
        server, _ = self.server()
        interrupt(server)
        self.assertEqual(self.finish(server)[0], 130)


if __name__ == "__main__":
    program.main()
