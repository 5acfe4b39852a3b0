// CYCLES enabled cycles of delay.
module delay #(
    parameter WIDTH = 8,
    parameter CYCLES = 1
) (
    input clk,
    input enable,
    input [WIDTH-1:0] in,
    output [WIDTH-1:0] out
);
  generate
    if (CYCLES == 0) begin : wires
      assign out = in;
    end else begin : registers
      reg [WIDTH-1:0] words[0:CYCLES-1];
      integer c;
      always @(posedge clk)
        if (enable) begin
          words[0] <= in;
          for (c = 1; c < CYCLES; c = c + 1) words[c] <= words[c-1];
        end
      assign out = words[CYCLES-1];
    end
  endgenerate
endmodule
