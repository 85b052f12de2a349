"""The words of this project, one meaning each; pure types and functions, no I/O.

task        what was asked: repository, base commit, issue text, test command, budget
attempt     one try at a task in one fresh worktree
round       ask, apply, judge, feed back; up to six in an attempt
step        one model call
edit        one change the model asked for
patch       all that differs between base and worktree; file patch, hunk and line are its parts
evidence    frozen facts a guard looks at
limits      the thresholds in force
guard       a pure function ``check(evidence, limits) -> outcome`` that declares its stage
outcome     ``pass | warn | block | unknown`` with a reason and a figure
verdict     what a round came to: ``hold | retry | no_change | review``
grade       how much is proven of a patch in review
role        scout, router, hunter, hunter-pro, verifier, reworker
server      a llama.cpp server; it has slots; a lease is one step's hold on a slot
stream      what one step produced, as a file of deltas
reading     one sample of a device or a server
journal     append-only truth, made of entries (past tense); a snapshot is a fold of its head
inbox       where commands (imperative) are dropped
view        what a widget shows; a request is what it reports
job         an ``asyncio.Task``

Quantities carry their unit in the name: ``elapsed_s``, ``used_mib``.
"""
