"""What functions and commands take where nothing is said: one place, so that both give the same answer."""

#: The machine, as `simsched.machine` takes it.
MACHINE = "knl-7250"
#: The policy of one replay.
POLICY = "critical-path"
#: The policy that stands first among all, and that other policies are compared with.
BASELINE = "sequential"
