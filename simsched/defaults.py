"""Defaults of functions and commands: one place, so that both give the same answer."""

#: The machine, in the form of `simsched.machine`.
MACHINE = "knl-7250"
#: The policy of one replay.
POLICY = "critical-path"
#: The policy of replays of what was learned from recordings.
RECORDED_POLICY = "fifo"
#: The first of all policies, to which the others are compared.
BASELINE = "sequential"
