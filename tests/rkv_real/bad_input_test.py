"""Mistakes are told with their place and what to do, and nothing is started or written."""

import os

import program
from control_peer import ControlPeer
from program import ProgramTest


class BadInput(ProgramTest):
    def refused_scenario(self, *says, arguments=(), **fields):
        path = self.scenario(**fields)
        err = self.refused("--scenario", path, "--out", "out", *arguments, says=says)
        self.assertIn("small.json", err)

    def test_help_explains_and_is_no_mistake(self):
        out, _ = self.run_well("--help")
        for text in ("--scenario", "--set", "--role", "--device", "Examples:", "Exit status", "docs/scenario.md"):
            self.assertIn(text, out)

    def test_version(self):
        out, _ = self.run_well("--version")
        self.assertRegex(out, r"\d+\.\d+")

    def test_unknown_field(self):
        self.refused_scenario("/load", "windoww", load={"total_operations": 10, "windoww": 2})

    def test_wrong_type(self):
        self.refused_scenario("/load/window", load={"total_operations": 10, "window": "two"})

    def test_out_of_range(self):
        self.refused_scenario("/clients", clients=[0])

    def test_several_mistakes_are_told_at_once(self):
        self.refused_scenario("/transport", "/keys/count", transport="roce", keys={"count": 0})

    def test_impossible_combinations(self):
        self.refused_scenario("/load", load={"total_operations": 10, "duration_s": 1})
        self.refused_scenario("/exchange", transport="uc", exchange="read_read")
        self.refused_scenario(
            "receive_depth", transport="uc", load={"total_operations": 10, "window": 8}, queue_pair={"receive_depth": 4}
        )
        self.refused_scenario("rate_ops_s", load={"total_operations": 10, "arrivals": {"kind": "poisson"}})

    def test_what_the_device_cannot_do(self):
        self.refused_scenario("/message", "path MTU", transport="ud", message={"value_capacity_bytes": 60000})
        self.refused_scenario("/queue_pair/inline_bytes", transport="uc", queue_pair={"inline_bytes": 60000})

    def test_no_json_at_all(self):
        path = self.folder / "broken.json"
        path.write_text('{"name": "broken", ')
        self.refused("--scenario", path, says=["broken.json", "line"])

    def test_missing_file(self):
        self.refused("--scenario", "nowhere.json", says=["nowhere.json"])

    def test_no_scenario(self):
        self.refused(says=["--scenario"])

    def test_unknown_option(self):
        self.refused("--scenrio", "x", says=["--scenrio"])

    def test_overrides(self):
        path = self.scenario()
        for wrong, says in {
            "load.windoww=2": "windoww",
            "load.window=two": "/load/window",
            "load.window": "load.window",
            "=3": "=3",
        }.items():
            self.refused("--scenario", path, "--set", wrong, "--out", "out", says=[says])
        self.refused("--scenario", path, "--clients", "1,x", says=["--clients"])
        self.refused("--scenario", path, "--clients", "0", "--out", "out", says=["clients"])

    def test_out_that_has_something_in_it(self):
        (self.folder / "out").mkdir()
        (self.folder / "out" / "precious.txt").write_text("mine")
        self.refused("--scenario", self.scenario(), "--out", "out", says=["out", "never overwritten"])

    def test_out_that_is_a_file(self):
        (self.folder / "out").write_text("mine")
        self.refused("--scenario", self.scenario(), "--out", "out", says=["not a directory"])

    def test_a_sweep_of_which_one_place_is_taken_is_not_begun(self):
        path = self.scenario(sweep={"load.window": [1, 2]})
        self.run_well("--scenario", path, "--out", "once")
        second = sorted(self.folder.joinpath("once").iterdir())[1].name
        (self.folder / "out" / second).mkdir(parents=True)
        (self.folder / "out" / second / "precious.txt").write_text("mine")
        self.refused("--scenario", path, "--out", "out", says=[second, "never overwritten"])

    def test_roles_and_their_options(self):
        path = self.scenario()
        self.refused("--role", "client", "--scenario", path, says=["--server"])
        self.refused("--role", "king", says=["--role"])
        self.refused("--server", "localhost", "--scenario", path, says=["--role client"])
        self.refused("--join", "--scenario", path, says=["--role client"])
        self.refused("--once", "--scenario", path, says=["--listen"])
        self.refused("--role", "server", "--scenario", path, says=["leads the run"])
        self.refused("--role", "client", "--server", "x", "--join", "--scenario", path, says=["leads the run"])
        self.refused("--role", "server", "--listen", "localhost:port", says=["--listen", "port"])
        self.refused("--role", "client", "--server", "localhost:99999", "--scenario", path, says=["--server"])
        self.refused(
            "--role", "client", "--server", "localhost", "--processes", "2", "--clients", "1", "--scenario", path,
            says=["--processes 2", "too few"],
        )  # fmt: skip

    def test_a_device_that_is_missing(self):
        path = self.scenario(transport="uc")
        code, _, err = self.run_program("--scenario", path, "--device", "mlx9_7", "--out", "out")
        self.assertNotEqual(code, 0)
        self.assertIn("mlx9_7", err)
        self.assertIn("soft0", err)  # what there is
        self.assertFalse((self.folder / "out").exists())

    def test_a_device_name_that_is_no_json(self):
        self.refused("--scenario", self.scenario(transport="uc"), "--device", 'a"b', says=["/device/name"])

    def test_soft0_on_loopback_does_not_go_to_other_hosts(self):
        path = self.scenario(transport="uc")
        self.refused(
            "--role", "client", "--server", "192.0.2.1:1", "--device", "soft0", "--scenario", path, "--out", "out",
            says=["192.0.2.1", "RKV_SOFT_ADDRESS", "--device"],
        )  # fmt: skip

    def test_nor_does_a_server_that_others_are_to_reach(self):
        server = self.start("--role", "server", "--listen", "0.0.0.0:0", "--device", "soft0")
        port = self.line_of(server, "listening on").rsplit(":", 1)[-1].strip()
        with ControlPeer(f"127.0.0.1:{port}", program.PATIENCE_S) as peer:
            peer.hello({"scenario": {**program.SMALL, "transport": "uc"}, "processes": 1})
            self.assertIn("RKV_SOFT_ADDRESS", peer.receive()["failed"])
        self.assertIsNone(server.poll())

    def test_addresses_that_soft0_cannot_have(self):
        path = self.scenario(transport="uc")
        for address, says in (("localhost", "no IPv4 address"), ("192.0.2.1", "can't be bound")):
            with self.subTest(address=address):
                code, _, err = self.run_program(
                    "--scenario", path, "--device", "soft0", "--out", "out", environment={"RKV_SOFT_ADDRESS": address}
                )
                self.assertNotEqual(code, 0)
                self.assertIn("RKV_SOFT_ADDRESS", err)
                self.assertIn(says, err)
                self.assertFalse((self.folder / "out").exists())

    def test_results_that_cannot_be_written(self):
        if os.geteuid() == 0:
            place = "/proc/nowhere/out"
        else:
            (self.folder / "closed").mkdir(mode=0o500)
            place = "closed/out"
        code, _, err = self.run_program("--scenario", self.scenario(), "--out", place)
        self.assertIn(code, (1, 2))
        self.assertIn("cannot make the directory", err)


if __name__ == "__main__":
    program.main()
