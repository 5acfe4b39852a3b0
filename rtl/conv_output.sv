// Output FIFO of a pipeline that cannot be stopped. A token's place is reserved (`reserve`, only
// while `room` is high) when its iteration starts; the token is written at any later time.
module conv_output #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16
) (
    input wire clk,
    input wire rst,
    input wire reserve,
    output logic room,
    input wire write,
    input wire [WIDTH-1:0] data,
    output wire out_valid,
    input wire out_ready,
    output wire [WIDTH-1:0] out_data
);
  localparam int BITS = $clog2(DEPTH + 1);
  logic [BITS-1:0] free;
  wire pop = out_valid & out_ready;
  wire [BITS-1:0] free_next = pop == reserve ? free : pop ? free + 1'b1 : free - 1'b1;
  always_ff @(posedge clk) begin
    free <= rst ? BITS'(DEPTH) : free_next;
    room <= rst || free_next != '0;
  end

  wire never_full;
  generate
    if (DEPTH <= 128) begin : g_srl
      fifo_srl #(.WIDTH(WIDTH), .DEPTH(DEPTH)) fifo (
          .clk, .rst, .in_valid(write), .in_ready(never_full), .in_data(data),
          .out_valid, .out_ready, .out_data);
    end else begin : g_lutram
      fifo_lutram #(.WIDTH(WIDTH), .DEPTH(DEPTH)) fifo (
          .clk, .rst, .in_valid(write), .in_ready(never_full), .in_data(data),
          .out_valid, .out_ready, .out_data);
    end
  endgenerate
  wire unused = &{1'b0, never_full};
endmodule
