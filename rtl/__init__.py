"""SystemVerilog library: one hardware task or memory for each module."""
