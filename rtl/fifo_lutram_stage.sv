// FIFO of up to 64 tokens in one row of distributed RAM, read without a clock edge.
module fifo_lutram_stage #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 32
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
  // A shallower RAM would take as many LUTs.
  localparam integer BITS = DEPTH <= 32 ? 5 : 6;

  logic [BITS-1:0] write_slot, read_slot;
  wire push = in_valid & in_ready;
  wire pop = out_valid & out_ready;
  fifo_pointers #(.DEPTH(DEPTH), .BITS(BITS)) pointers (
      .clk, .rst, .push, .fetch(pop), .leave(pop), .in_ready, .held(out_valid), .write_slot, .read_slot);

  (* ram_style = "distributed" *) logic [WIDTH-1:0] tokens[(1<<BITS)];
  always_ff @(posedge clk) if (push) tokens[write_slot] <= in_data;
  assign out_data = tokens[read_slot];
endmodule
