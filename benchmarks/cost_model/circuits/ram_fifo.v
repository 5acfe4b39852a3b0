// A FIFO in a RAM of the given style (distributed, block, ultra).
module ram_fifo #(
    parameter DEPTH = 64,
    parameter WIDTH = 16,
    parameter STYLE = "distributed",
    parameter POINTER = $clog2(DEPTH)
) (
    input clk,
    input reset,
    input write,
    input [WIDTH-1:0] in,
    input read,
    output reg [WIDTH-1:0] out,
    output reg valid,
    output reg ready
);
  (* ram_style = STYLE *) reg [WIDTH-1:0] words[0:DEPTH-1];
  reg [POINTER-1:0] tail, head;
  reg [POINTER:0] level;
  wire push = write & ready;
  wire fetch = (level != 0) & (read | ~valid);
  wire [POINTER:0] next = level + push - fetch;
  always @(posedge clk) begin
    if (push) words[tail] <= in;
    if (fetch) out <= words[head];
    if (reset) begin
      tail <= 0;
      head <= 0;
      level <= 0;
      valid <= 0;
      ready <= 1;
    end else begin
      if (push) tail <= tail == DEPTH - 1 ? 0 : tail + 1;
      if (fetch) head <= head == DEPTH - 1 ? 0 : head + 1;
      level <= next;
      ready <= next != DEPTH;
      valid <= fetch | (valid & ~read);
    end
  end
endmodule
