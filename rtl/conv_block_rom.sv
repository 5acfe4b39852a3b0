// Constant memory of DEPTH words, word 0 lowest in WORDS, in block RAM with its output register:
// two clocks.
module conv_block_rom #(
    parameter int DEPTH = 16,
    parameter int WIDTH = 72,
    parameter logic [DEPTH*WIDTH-1:0] WORDS = '0,
    localparam int ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input wire clk,
    input wire [ADDRESS_BITS-1:0] address,
    output logic [WIDTH-1:0] q
);
  (* rom_style = "block", ram_style = "block" *)
  logic [WIDTH-1:0] words[0:DEPTH-1];
  initial for (int i = 0; i < DEPTH; i++) words[i] = WORDS[i*WIDTH+:WIDTH];
  logic [WIDTH-1:0] read;
  always_ff @(posedge clk) begin
    read <= words[address];
    q <= read;
  end
endmodule
