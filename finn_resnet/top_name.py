"""Name of the C++ top function, or top module: what is legal, and one from a file's name."""

from __future__ import annotations

import re
from importlib import resources

from finn_resnet.errors import UserError

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class
compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept
not not_eq nullptr operator or or_eq private protected public register reinterpret_cast return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true
try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Names and macros of the standard headers, and what the project's own files are named.
_TAKEN = """main std fr assert errno stdin stdout stderr NULL EOF linux unix"""
_FILES = ("config", "testbench", "vector_testbench")


# IEEE 1800-2017, annex B, without those of C++.
_VERILOG_KEYWORDS = """
accept_on alias always always_comb always_ff always_latch assert assign assume automatic before
begin bind bins binsof bit buf bufif0 bufif1 byte casex casez cell chandle checker clocking cmos
config constraint context cover covergroup coverpoint cross deassign defparam design disable dist
edge end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup
endinterface endmodule endpackage endprimitive endprogram endproperty endspecify endsequence
endtable endtask event eventually expect extends final first_match force foreach forever fork
forkjoin function generate genvar global highz0 highz1 iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance integer interconnect
interface intersect join join_any join_none large let liblist library local localparam logic
longint macromodule matches medium modport module nand negedge nettype nexttime nmos nor
noshowcancelled notif0 notif1 null output package packed parameter pmos posedge primitive priority
program property pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc
randcase randsequence rcmos real realtime ref reg reject_on release repeat restrict rnmos rpmos
rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence
shortint shortreal showcancelled small soft solve specify specparam string strong strong0 strong1
super supply0 supply1 sync_accept_on sync_reject_on table tagged task time timeprecision timeunit
tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type unique unique0 unsized until until_with
untyped use uwire var vectored wait wait_order wand weak weak0 weak1 wildcard wire with within wor
xnor
"""


def reserved_module_names() -> frozenset[str]:
    """Identifiers a top module cannot have: SystemVerilog's words, and the library's modules."""
    library = resources.files("finn_resnet.rtl").iterdir()
    modules = [file.name.removesuffix(".sv") for file in library if file.name.endswith(".sv")]
    return frozenset([*_VERILOG_KEYWORDS.split(), *modules])


def reserved_names() -> frozenset[str]:
    """Identifiers a top function cannot have: C++17's words, and those its sources use.

    The top's sources are `<top>.hpp` and `<top>.cpp`, beside which the library's headers are found.
    """
    library = resources.files("finn_resnet.hls").iterdir()
    headers = [file.name.removesuffix(".hpp") for file in library if file.name.endswith(".hpp")]
    return frozenset([*_KEYWORDS.split(), *_TAKEN.split(), *_FILES, *headers])


def is_legal_top_name(name: str, backend: str = "hls") -> bool:
    """Whether a C++ function, and with ``backend`` rtl a module, can have this name."""
    if backend == "rtl" and name in reserved_module_names():
        return False
    return bool(re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII)) and name not in reserved_names()


def check_top_name(name: str, backend: str = "hls") -> None:
    """Refuse an illegal top name.

    Raises:
        UserError: it is no C identifier, or taken.
    """
    if not is_legal_top_name(name, backend):
        words = "C++ or SystemVerilog" if backend == "rtl" else "C++"
        raise UserError(
            f"config key 'top_name': {name!r} cannot name the C++ top function: use letters, "
            f"digits and '_', start with a letter, and take no word of {words} and no file of the "
            f"project; {top_name_from(name, backend)!r} would do"
        )


def top_name_from(text: str, backend: str = "hls") -> str:
    """A legal top name as near to `text` as there is: `switch` becomes `top_switch`."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if is_legal_top_name(name, backend) else f"top_{name.lstrip('_')}"
