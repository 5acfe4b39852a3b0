// Running sum (MAXIMUM 0) or maximum of signed values, one for each channel group: `total` is the
// group's new total, a clock after `x`. With `first` the group starts afresh.
module running_total #(
    parameter integer BITS = 16,
    parameter integer GROUPS = 4,
    parameter integer MAXIMUM = 0,
    parameter integer GROUP_BITS = GROUPS > 1 ? $clog2(GROUPS) : 1
) (
    input  logic                   clk,
    input  logic                   step,
    input  logic                   first,
    input  logic [ GROUP_BITS-1:0] group,
    input  logic signed [BITS-1:0] x,
    output logic signed [BITS-1:0] total
);
  logic signed [BITS-1:0] so_far, joined;
  assign joined = first ? x : MAXIMUM == 0 ? so_far + x : so_far > x ? so_far : x;
  always_ff @(posedge clk) if (step) total <= joined;
  generate
    if (GROUPS == 1) begin : g_one
      assign so_far = total;
      wire unused = &{1'b0, group};
    end else begin : g_many
      (* ram_style = "distributed" *) logic signed [BITS-1:0] totals[1<<GROUP_BITS];
      always_ff @(posedge clk) if (step) totals[group] <= joined;
      assign so_far = totals[group];
    end
  endgenerate
endmodule
