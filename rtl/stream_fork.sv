// Copies every token to COPIES outputs, all lanes together. Lane l of copy c is output lane
// c * LANES + l.
module stream_fork #(
    parameter integer W = 4,
    parameter integer LANES = 1,
    parameter integer GROUPS = 1,
    parameter integer COPIES = 2,
    parameter integer WIDTH = 8
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [LANES-1:0]                   in_valid,
    output logic [LANES-1:0]                   in_ready,
    input  logic [LANES-1:0][WIDTH-1:0]        in_data,
    output logic [COPIES*LANES-1:0]            out_valid,
    input  logic [COPIES*LANES-1:0]            out_ready,
    output logic [COPIES*LANES-1:0][WIDTH-1:0] out_data
);
  logic [LANES-1:0] room, starts;
  genvar l, c;
  generate
    for (l = 0; l < LANES; l = l + 1) begin : g_lane
      logic [COPIES-1:0] free;
      for (c = 0; c < COPIES; c = c + 1) begin : g_copy
        assign free[c] = out_ready[c*LANES+l];
        assign out_valid[c*LANES+l] = starts[l];
        assign out_data[c*LANES+l] = in_data[l];
      end
      assign room[l] = &free;
    end
  endgenerate
  // verilator lint_off PINCONNECTEMPTY
  // All channel groups are alike.
  lane_control #(.W(W), .LANES(LANES), .GROUPS(GROUPS)) control (
      .clk, .rst, .in_valid, .in_ready, .room, .starts, .group());
  // verilator lint_on PINCONNECTEMPTY
endmodule
