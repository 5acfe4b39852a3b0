// Constant memory of DEPTH words, word 0 lowest in WORDS, in LUTs: no clock.
module conv_rom #(
    parameter int DEPTH = 16,
    parameter int WIDTH = 8,
    parameter logic [DEPTH*WIDTH-1:0] WORDS = '0,
    localparam int ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input wire [ADDRESS_BITS-1:0] address,
    output wire [WIDTH-1:0] q
);
  generate
    if (DEPTH > 1) begin : g_memory
      // Yosys has another word for LUTs, and takes this one for the RAM in them.
`ifdef YOSYS
      (* rom_style = "logic" *)
`else
      (* rom_style = "distributed" *)
`endif
      logic [WIDTH-1:0] words[0:DEPTH-1];
      initial for (int i = 0; i < DEPTH; i++) words[i] = WORDS[i*WIDTH+:WIDTH];
      assign q = words[address];
    end else begin : g_constant
      assign q = WORDS;
      wire unused = &{1'b0, address};
    end
  endgenerate
endmodule
