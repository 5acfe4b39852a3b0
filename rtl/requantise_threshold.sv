// BASE + count(t <= (NEGATE[group] ? -x : x) for t in THRESHOLDS[group]) by binary search, a
// comparison with a memory of its own in every clock; LEVELS + 1 clocks.
//
// THRESHOLDS holds for every group its 2^LEVELS - 1 ascending thresholds of IN_BITS + 1 signed bits,
// the first lowest; a shorter list is filled up with values above every x.
module requantise_threshold #(
    parameter int IN_BITS = 20,
    parameter int OUT_BITS = 8,
    parameter int LEVELS = 2,
    parameter int BASE = 0,
    parameter int GROUPS = 1,
    parameter logic [GROUPS-1:0] NEGATE = '0,
    localparam int COUNT = (1 << LEVELS) - 1,
    localparam int BITS = IN_BITS + 1,
    parameter logic [GROUPS*COUNT*BITS-1:0] THRESHOLDS = '0,
    localparam int GROUP_BITS = GROUPS > 1 ? $clog2(GROUPS) : 1
) (
    input wire clk,
    input wire [GROUP_BITS-1:0] group,
    input wire signed [IN_BITS-1:0] x,
    output wire [OUT_BITS-1:0] y
);
  // What level k compares with: thresholds 2^(LEVELS-k) * position + 2^(LEVELS-k-1) - 1.
  function automatic [(GROUPS<<LEVELS)*BITS-1:0] level_words(input int level);
    level_words = '0;
    for (int g = 0; g < GROUPS; g++)
      for (int position = 0; position < 1 << level; position++)
        level_words[((g << level) + position)*BITS+:BITS] = THRESHOLDS[
            (g*COUNT+(position<<(LEVELS-level))+(1<<(LEVELS-level-1))-1)*BITS+:BITS];
  endfunction

  logic signed [BITS-1:0] value[0:LEVELS];
  logic [GROUP_BITS-1:0] channel[0:LEVELS];
  logic [LEVELS:0] position[0:LEVELS];
  wire signed [BITS-1:0] wide = BITS'(x);
  wire negate = NEGATE[GROUPS > 1 ? group : 0];
  always_ff @(posedge clk) begin
    value[0] <= negate ? -wide : wide;
    channel[0] <= group;
  end
  assign position[0] = '0;

  genvar k;
  generate
    for (k = 0; k < LEVELS; k = k + 1) begin : g_level
      localparam int DEPTH = GROUPS << k;
      localparam int ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
      wire [BITS-1:0] threshold;
      wire [ADDRESS_BITS-1:0] row = GROUPS > 1 ? ADDRESS_BITS'(channel[k]) << k : '0;
      conv_rom #(
          .DEPTH(DEPTH),
          .WIDTH(BITS),
          .WORDS((DEPTH * BITS)'(level_words(k)))
      ) thresholds (
          .address(row | ADDRESS_BITS'(position[k])),
          .q(threshold)
      );
      always_ff @(posedge clk) begin
        value[k+1] <= value[k];
        channel[k+1] <= channel[k];
        position[k+1] <= {position[k][LEVELS-1:0], value[k] >= $signed(threshold)};
      end
    end
  endgenerate
  assign y = OUT_BITS'(BASE) + OUT_BITS'(position[LEVELS]);
endmodule
