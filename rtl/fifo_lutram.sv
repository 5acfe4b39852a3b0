// FIFO in distributed RAM. More than 64 tokens go through stages of at most 64, since a deeper RAM
// would need multiplexers behind it; a token passes a stage in one cycle.
module fifo_lutram #(
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
  localparam integer STAGES = (DEPTH + 63) / 64;

  logic [STAGES:0] valid, ready;
  logic [STAGES:0][WIDTH-1:0] data;
  assign valid[0] = in_valid;
  assign in_ready = ready[0];
  assign data[0] = in_data;
  assign out_valid = valid[STAGES];
  assign ready[STAGES] = out_ready;
  assign out_data = data[STAGES];

  genvar s;
  generate
    for (s = 0; s < STAGES; s = s + 1) begin : g_stage
      fifo_lutram_stage #(.WIDTH(WIDTH), .DEPTH(s == STAGES - 1 ? DEPTH - 64 * s : 64)) stage (
          .clk, .rst,
          .in_valid(valid[s]), .in_ready(ready[s]), .in_data(data[s]),
          .out_valid(valid[s+1]), .out_ready(ready[s+1]), .out_data(data[s+1]));
    end
  endgenerate
endmodule
