// Timing of a synchronous FIFO: registered flags, so a token written in a cycle can be read in the
// next one, and a slot read in a cycle can be written in the next one. Carries no data.
module fifo (
    input  logic        clk,
    input  logic        reset,
    input  logic [15:0] depth,
    input  logic        write,
    input  logic        read,
    output logic        empty,
    output logic        full,
    output logic [15:0] max_count,  // largest number of tokens held after a clock edge
    output logic [15:0] written,
    output logic [15:0] taken
);
  logic [15:0] count;
  logic [15:0] next_count;

  assign empty = count == 0;
  assign full = count >= depth;
  assign next_count = count + (write ? 16'd1 : 16'd0) - (read ? 16'd1 : 16'd0);

  always_ff @(posedge clk) begin
    if (reset) begin
      count <= 0;
      max_count <= 0;
      written <= 0;
      taken <= 0;
    end else begin
      count <= next_count;
      if (next_count > max_count) max_count <= next_count;
      if (write) written <= written + 1;
      if (read) taken <= taken + 1;
    end
  end
endmodule
