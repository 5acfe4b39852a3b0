// `active` in the LENGTH steps that begin LAG steps (at least one) after the `first` step of a frame.
// Frames begin at least LENGTH steps apart, and LAG is less.
module frame_span #(
    parameter integer LAG = 4,
    parameter integer LENGTH = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic step,
    input  logic first,
    output logic active
);
  logic start, stop;
  generate
    if (LAG == 1) begin : g_next
      assign start = first;
    end else begin : g_later
      logic filling, filled;
      ring_count #(.COUNT(LAG - 1)) lag (.clk, .rst, .step(step & filling), .last(filled));
      assign start = filling & filled;
      always_ff @(posedge clk)
        if (rst) filling <= 1'b0;
        else if (step) filling <= first | (filling & ~filled);
    end
  endgenerate
  ring_count #(.COUNT(LENGTH)) length (.clk, .rst, .step(step & active), .last(stop));
  always_ff @(posedge clk)
    if (rst) active <= 1'b0;
    else if (step) active <= start | (active & ~stop);
endmodule
