// A FIFO as a shift register with a read pointer.
module shift_fifo #(
    parameter DEPTH = 16,
    parameter WIDTH = 16,
    parameter POINTER = $clog2(DEPTH) > 0 ? $clog2(DEPTH) : 1
) (
    input clk,
    input reset,
    input write,
    input [WIDTH-1:0] in,
    input read,
    output [WIDTH-1:0] out,
    output reg valid,
    output reg ready
);
  reg [WIDTH-1:0] words[0:DEPTH-1];
  reg [POINTER:0] level;
  wire push = write & ready;
  wire pop = read & valid;
  wire [POINTER:0] next = level + push - pop;
  integer d;
  always @(posedge clk) begin
    if (push) begin
      for (d = DEPTH - 1; d > 0; d = d - 1) words[d] <= words[d-1];
      words[0] <= in;
    end
    if (reset) begin
      level <= 0;
      valid <= 0;
      ready <= 1;
    end else begin
      level <= next;
      valid <= next != 0;
      ready <= next != DEPTH;
    end
  end
  wire [POINTER-1:0] position = level - 1;
  assign out = words[position];
endmodule
