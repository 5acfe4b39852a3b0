// Pointers and flags of a FIFO in a RAM. Besides the write and the read pointer a third one marks
// the first slot that must not be written: it runs DEPTH slots ahead of the tokens that have left
// (`leave`), which may be later than their reading from the RAM (`fetch`).
module fifo_pointers #(
    parameter integer DEPTH = 64,
    parameter integer BITS = 6
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            push,
    input  logic            fetch,
    input  logic            leave,
    output logic            in_ready,
    output logic            held,        // the RAM holds a token
    output logic [BITS-1:0] write_slot,
    output logic [BITS-1:0] read_slot
);
`include "ring_code.svh"

  logic [BITS-1:0] limit;
  ring #(.BITS(BITS)) writes (.clk, .rst, .step(push), .state(write_slot));
  ring #(.BITS(BITS)) reads (.clk, .rst, .step(fetch), .state(read_slot));
  ring #(.BITS(BITS), .INIT(DEPTH % ring_states(BITS))) limits (
      .clk, .rst, .step(leave), .state(limit));
  wire [BITS-1:0] next_write = BITS'(ring_next(16'(write_slot), BITS));
  wire [BITS-1:0] next_read = BITS'(ring_next(16'(read_slot), BITS));

  always_ff @(posedge clk) begin
    if (rst) begin
      in_ready <= 1'b1;
      held <= 1'b0;
    end else begin
      if (leave) in_ready <= 1'b1;
      else if (push) in_ready <= next_write != limit;
      if (push) held <= 1'b1;
      else if (fetch) held <= next_read != write_slot;
    end
  end
endmodule
