// A parameter memory of pseudo-random words, read one a cycle.
module rom #(
    parameter DEPTH = 64,
    parameter WIDTH = 16,
    parameter STYLE = "distributed",
    parameter POINTER = $clog2(DEPTH)
) (
    input clk,
    input enable,
    input [POINTER-1:0] address,
    output reg [WIDTH-1:0] word
);
  (* rom_style = STYLE *) reg [WIDTH-1:0] words[0:DEPTH-1];
  integer d, b;
  reg [31:0] state;
  initial begin
    state = 32'h1234567;
    for (d = 0; d < DEPTH; d = d + 1)
      for (b = 0; b < WIDTH; b = b + 1) begin
        state = state ^ (state << 13);
        state = state ^ (state >> 17);
        state = state ^ (state << 5);
        words[d][b] = state[7];
      end
  end
  always @(posedge clk) if (enable) word <= words[address];
endmodule
