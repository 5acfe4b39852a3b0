// Starts the iterations of a convolution: column group, input channel group, output channel group
// (fastest), one in every clock (`step`) in which all it needs is there: a window in the first
// output channel group, weights, a skip token of every column (SKIP 1: first input channel group,
// 2: last) and, in the last input channel group, room for the results of every column. The last
// column group has LAST_LANES columns.
module conv_control #(
    parameter int IN_GROUPS = 1,
    parameter int OUT_GROUPS = 1,
    parameter int COLUMN_GROUPS = 1,
    parameter int LANES = 1,
    parameter int LAST_LANES = 1,
    parameter int SKIP = 0,
    localparam int WORDS = IN_GROUPS * OUT_GROUPS,
    localparam int WORD_BITS = WORDS > 1 ? $clog2(WORDS) : 1,
    localparam int IN_BITS = IN_GROUPS > 1 ? $clog2(IN_GROUPS) : 1,
    localparam int OUT_BITS = OUT_GROUPS > 1 ? $clog2(OUT_GROUPS) : 1
) (
    input wire clk,
    input wire rst,
    input wire window_valid,
    output wire window_ready,
    input wire weights_valid,
    input wire [LANES-1:0] skip_valid,
    output wire [LANES-1:0] skip_ready,
    input wire [LANES-1:0] room,
    output wire [LANES-1:0] reserve,  // columns whose results this iteration completes
    output wire step,
    output wire load,  // the iteration takes a window
    output wire first,  // first input channel group
    output logic [WORD_BITS-1:0] word,  // number of the weights
    output logic [IN_BITS-1:0] in_group,
    output logic [OUT_BITS-1:0] out_group
);
  localparam int COLUMN_BITS = COLUMN_GROUPS > 1 ? $clog2(COLUMN_GROUPS) : 1;
  logic [COLUMN_BITS-1:0] column_group;
  wire first_out = out_group == '0;
  wire last_out = out_group == OUT_BITS'(OUT_GROUPS - 1);
  wire last = in_group == IN_BITS'(IN_GROUPS - 1);
  wire last_column = column_group == COLUMN_BITS'(COLUMN_GROUPS - 1);
  wire [LANES-1:0] columns = last_column ? {LANES{1'b1}} >> (LANES - LAST_LANES) : '1;
  wire skips = SKIP == 1 ? first : SKIP == 2 ? last : 1'b0;
  assign first = in_group == '0;

  assign step = ~rst & weights_valid & (window_valid | ~first_out)
                & (~skips | &(skip_valid | ~columns)) & (~last | &(room | ~columns));
  assign load = step & first_out;
  assign window_ready = load;
  assign skip_ready = columns & {LANES{step & skips}};
  assign reserve = columns & {LANES{step & last}};

  always_ff @(posedge clk) begin
    if (rst) begin
      word <= '0;
      in_group <= '0;
      out_group <= '0;
      column_group <= '0;
    end else if (step) begin
      word <= last & last_out ? '0 : word + WORD_BITS'(1);
      out_group <= last_out ? '0 : out_group + OUT_BITS'(1);
      if (last_out) in_group <= last ? '0 : in_group + IN_BITS'(1);
      if (last_out & last) column_group <= last_column ? '0 : column_group + COLUMN_BITS'(1);
    end
  end
endmodule
