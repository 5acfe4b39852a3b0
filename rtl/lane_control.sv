// Starts the iterations of a task that keeps the picture's shape: one token of every lane of every
// input in a step, in which all of them and room for the results are there. `group` is the channel
// group; the last column group of a row may have fewer lanes (`exists`).
module lane_control #(
    parameter integer W = 4,
    parameter integer LANES = 2,
    parameter integer GROUPS = 1,
    parameter integer INPUTS = 1,
    parameter integer GROUP_BITS = GROUPS > 1 ? $clog2(GROUPS) : 1
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [INPUTS-1:0][LANES-1:0] in_valid,
    output logic [INPUTS-1:0][LANES-1:0] in_ready,
    input  logic [ LANES-1:0]            room,
    output logic [ LANES-1:0]            starts,  // lanes whose iteration begins
    output logic [GROUP_BITS-1:0]        group
);
  logic [LANES-1:0] exists;
  wire step = ~rst & (&(in_valid | ~{INPUTS{exists}})) & (&(room | ~exists));
  wire pixel_end = step & (group == GROUP_BITS'(GROUPS - 1));
  assign starts = step ? exists : '0;
  assign in_ready = {INPUTS{starts}};
  counter #(.COUNT(GROUPS)) groups (.clk, .rst, .step, .restart(1'b0), .value(group));
  genvar l;
  generate
    if (W % LANES == 0) begin : g_even
      assign exists = '1;
      wire unused = &{1'b0, pixel_end};
    end else begin : g_ragged
      logic row_end;
      ring_count #(.COUNT((W + LANES - 1) / LANES)) columns (
          .clk, .rst, .step(pixel_end), .last(row_end));
      for (l = 0; l < LANES; l = l + 1) begin : g_lane
        assign exists[l] = !(l >= W % LANES && row_end);
      end
    end
  endgenerate
endmodule
