// FIFO of one or two tokens in flip-flops. The oldest token lies in the output register; a second
// one waits in `spill`, and comes in there whether or not it is needed, so that `spill` has no
// enable to compute. With DEPTH 1 a token passes every other cycle only.
module fifo_register #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 2
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
  generate
    if (DEPTH == 1) begin : g_one
      assign in_ready = ~out_valid;
      always_ff @(posedge clk) begin
        if (in_ready) out_data <= in_data;
        if (rst) out_valid <= 1'b0;
        else out_valid <= out_valid ? ~out_ready : in_valid;
      end
    end else begin : g_two
      logic [WIDTH-1:0] spill;
      wire step = out_ready | ~out_valid;
      always_ff @(posedge clk) begin
        if (in_ready) spill <= in_data;
        if (step) out_data <= in_ready ? in_data : spill;
        if (rst) begin
          in_ready <= 1'b1;
          out_valid <= 1'b0;
        end else begin
          in_ready <= step | (in_ready & ~in_valid);
          if (step) out_valid <= in_valid | ~in_ready;
        end
      end
    end
  endgenerate
endmodule
