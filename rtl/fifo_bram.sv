// FIFO in block RAM. The RAM's own read and output registers are the FIFO's last two tokens: each
// takes the next one when it is free, so nothing is selected behind the RAM. DEPTH counts them.
module fifo_bram #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 512
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
`include "ring_code.svh"
  localparam integer BITS = ring_bits(DEPTH);

  logic [BITS-1:0] write_slot, read_slot;
  logic held, read_valid;
  wire push = in_valid & in_ready;
  wire out_step = out_ready | ~out_valid;
  wire read_step = out_step | ~read_valid;
  fifo_pointers #(.DEPTH(DEPTH), .BITS(BITS)) pointers (
      .clk, .rst, .push, .fetch(held & read_step), .leave(out_valid & out_ready),
      .in_ready, .held, .write_slot, .read_slot);

  (* ram_style = "block" *) logic [WIDTH-1:0] tokens[(1<<BITS)];
  logic [WIDTH-1:0] read_data;
  always_ff @(posedge clk) begin
    if (push) tokens[write_slot] <= in_data;
    if (read_step) read_data <= tokens[read_slot];
    if (out_step) out_data <= read_data;
    if (rst) begin
      read_valid <= 1'b0;
      out_valid <= 1'b0;
    end else begin
      if (read_step) read_valid <= held;
      if (out_step) out_valid <= read_valid;
    end
  end
endmodule
