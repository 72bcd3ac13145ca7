"""Mistakes are told with their place and what to do, and nothing is started or written."""

import json

import program
from program import PROFILE, ProgramTest


class BadInput(ProgramTest):
    def refused_scenario(self, *says, arguments=(), **fields):
        self.refused(*self.simulation("--out", "out", *arguments, **fields), says=["small.json", *says])

    def refused_profile(self, *says, setting):
        self.refused(*self.simulation("--set-profile", setting, "--out", "out"), says=says)

    def test_help_explains_and_is_no_mistake(self):
        out, _ = self.run_well("--help")
        for text in ("--scenario", "--profile", "--without", "qp_cache", "Examples:", "Exit status", "docs/profile.md"):
            self.assertIn(text, out)

    def test_version(self):
        out, _ = self.run_well("--version")
        self.assertRegex(out, r"\d+\.\d+")

    def test_what_is_missing(self):
        self.refused(says=["--scenario"])
        self.refused("--scenario", self.scenario(), says=["--profile"])
        self.refused("--profile", PROFILE, says=["--scenario"])
        self.refused("--scenario", "nowhere.json", "--profile", PROFILE, says=["nowhere.json", "scenarios/"])
        self.refused("--scenario", self.scenario(), "--profile", "nowhere.json", says=["nowhere.json", "profiles/"])

    def test_unknown_option(self):
        self.refused(*self.simulation("--proflie", "x"), says=["--proflie"])
        self.refused(*self.simulation("--jobs", "0"), says=["--jobs"])

    def test_bad_scenarios(self):
        self.refused_scenario("/load/windoww", load={"total_operations": 10, "windoww": 2})
        self.refused_scenario("/load/window", load={"total_operations": 10, "window": "two"})
        self.refused_scenario("/clients", "65536", clients=[65537])
        self.refused_scenario("/clients", "twice", clients=[2, 2])
        self.refused_scenario("/transport", "/keys/count", transport="roce", keys={"count": 0})

    def test_bad_profiles(self):
        path = self.folder / "odd.json"
        for profile, says in (
            ({"nic": {"unitss": 1}}, "/nic/unitss"),
            ({"hosts": {"cpu": {"sockets": 0}}}, "/hosts/cpu/sockets"),
            ({"nic": {"rc": {"send_ns": "fast"}}}, "/nic/rc/send_ns"),
            ({"base": "nowhere.json"}, "nowhere.json"),
        ):
            path.write_text(json.dumps(profile))
            self.refused("--scenario", self.scenario(), "--profile", path, "--out", "out", says=["odd.json", says])
        path.write_text('{"nic": ')
        self.refused("--scenario", self.scenario(), "--profile", path, "--out", "out", says=["odd.json", "line"])

    def test_one_file_for_the_other(self):
        self.refused("--scenario", PROFILE, "--profile", PROFILE, says=["das5.json", "/nic", "unknown field"])
        path = self.scenario()
        self.refused("--scenario", path, "--profile", path, says=["small.json", "/transport", "unknown field"])

    def test_overrides_of_the_scenario(self):
        for wrong, says in {
            "load.windoww=2": "/load/windoww",
            "load.window=two": "/load/window",
            "load.window": "load.window",
            "=3": "=3",
        }.items():
            self.refused(*self.simulation("--set", wrong, "--out", "out"), says=["--set", says])
        self.refused(*self.simulation("--clients", "1,x"), says=["--clients"])
        self.refused(*self.simulation("--clients", "0", "--out", "out"), says=["clients"])

    def test_overrides_of_the_profile(self):
        self.refused_profile("das5.json", "/nic/windoww", "unknown field", setting="nic.windoww=2")
        self.refused_profile("das5.json", "/nic/rc/send_ns", "allowed", setting="nic.rc.send_ns=-1")
        self.refused_profile("/server/cpu/sockets", "allowed", setting="server.cpu.sockets=two")
        self.refused_profile("--set-profile nic", "path=value", setting="nic")

    def test_mechanisms_that_there_are_not(self):
        self.refused(*self.simulation("--without", "gravity", "--out", "out"), says=["--without gravity", "qp_cache"])

    def test_cores_that_the_simulated_host_has_not(self):
        # DAS-5: two sockets of eight cores of two hardware threads.
        self.refused_scenario("/server/cores", "CPU 32", "0 to 31", server={"cores": [31, 32]})
        self.refused_scenario("/client/cores", "CPU 40", "das5", client={"cores": [0, 40]})
        self.run_well(*self.simulation("--clients", "1", "--out", "out", server={"cores": [31]}))

    def test_cores_that_only_one_host_of_a_study_both_ways_has(self):
        study = {"workload": "verbs", "transport": "rc", "keys": None, "check": None, "client": {"cores": [20]}}
        for side in ("server", "client"):
            small = ["--set-profile", f"{side}.cpu.sockets=1"]
            both_ways = {**study, "verbs": {"both_ways": True}}
            self.refused_scenario("/client/cores", "CPU 20", "0 to 15", arguments=small, **both_ways)
        # One way the server's side only answers.
        self.run_well(*self.simulation("--set-profile", "server.cpu.sockets=1", "--out", "out", **study))

    def test_what_the_simulated_card_cannot_do(self):
        self.refused_scenario("/message", "path MTU of 4096", transport="ud", message={"value_capacity_bytes": 60000})
        self.refused_scenario("/queue_pair/inline_bytes", "the device's most", queue_pair={"inline_bytes": 4096})
        self.refused_scenario(
            "/queue_pair/inline_bytes", "10 inline", arguments=["--set-profile", "nic.inline_bytes=10"],
            queue_pair={"inline_bytes": 11},
        )  # fmt: skip

    def test_options_that_simgrid_does_not_take(self):
        for option in ("contexts", "no/such:3", "contexts/factory:steam", "contexts/stack-size:large"):
            err = self.refused(*self.simulation("--cfg", option, "--out", "out"), says=[f"--cfg {option}", "KEY:VALUE"])
            self.assertEqual(len(err.splitlines()), 1)  # no backtrace

    def test_out_that_has_something_in_it(self):
        (self.folder / "out").mkdir()
        (self.folder / "out" / "precious.txt").write_text("mine")
        self.refused(*self.simulation("--out", "out"), says=["out", "never overwritten"])

    def test_out_that_is_a_file(self):
        (self.folder / "out").write_text("mine")
        self.refused(*self.simulation("--out", "out"), says=["not a directory"])

    def test_a_sweep_of_which_one_place_is_taken_is_not_begun(self):
        sweep = {"sweep": {"load.window": [1, 2]}, "clients": 1}
        self.run_well(*self.simulation("--out", "once", **sweep))
        second = sorted(self.folder.joinpath("once").iterdir())[1].name
        (self.folder / "out" / second).mkdir(parents=True)
        (self.folder / "out" / second / "precious.txt").write_text("mine")
        self.refused(*self.simulation("--out", "out", **sweep), says=[second, "never overwritten"])


if __name__ == "__main__":
    program.main()
