"""Ranks that disagree: the job ends at once and says which rank and why."""

import harness


class Ranks(harness.ProgramTest):
    def test_other_value(self):
        result = self.train_apart(["--epochs", "2"], ["--epochs", "3"])
        self.assert_refused(result, 2, "rank 1 was started with --epochs 3, rank 0 with --epochs 2: .*same options")

    def test_option_on_one_rank_only(self):
        result = self.train_apart(["--seed", "1"], [], ["--seed", "1"])
        self.assert_refused(result, 2, "rank 1 was started without --seed, rank 0 with --seed 1")

    def test_mistake_on_one_rank_only(self):
        result = self.train_apart([], ["--batch-size", "0"])
        self.assert_refused(result, 2, r"\[rank 1\].*--batch-size 0")

    def test_same_options_in_another_order(self):
        options = [["--epochs", "1"], ["--train-samples", "32"], ["--test-samples", "32"]]
        forth = sum(options, [])
        back = sum(reversed(options), [])
        self.assert_trained(self.train_apart(forth, back))

    def test_one_rank_without_data(self):
        script = self.work / "rank.sh"
        script.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && export RONDE_DATA=/nowhere\nexec "$@"\n')
        script.chmod(0o755)
        command = [harness.MPIEXEC, "-np", 2, script, *self.command(data=False)]
        result = harness.execute(command, self.work, {"RONDE_DATA": str(self.data)})
        self.assert_refused(result, 74, r"\[rank 1\].*/nowhere")


if __name__ == "__main__":
    harness.main()
