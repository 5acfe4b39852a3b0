"""Whether the generated C++ can be scheduled as the simulation counts: one iteration a cycle.

Every task's synthesis path is compiled with an ordinary clang, and the optimised IR is checked for
what Vitis HLS needs of a pipelined loop. No vendor tool is involved, and none is replaced: clang
knows no hardware, so a clean check is necessary for the schedule, not sufficient.
"""
