"""SystemVerilog of a node: instances of the library's modules, with their parameters and delays."""
