// A cascade of DSP48E2, one a tap, with two sums side by side in P, 2^FIELD apart:
//
//   p = start + sum over t of (hi[t] * 2^FIELD + lo[t]) * narrow[t]
//
// Tap t takes its operands t clocks after tap 0; each holds its last loaded one while its bit of
// `load_wide` or `load_narrow` is low. `start` comes two clocks and `start_mod` one clock after
// tap 0's operands; `p` and `mod` are there TAPS + 3 clocks after them.
//
// P alone tells the two sums apart while the low one fits FIELD signed bits. A chain of small
// adders beside the cascade computes the high sum modulo 2^MOD_BITS from the operands' lowest bits
// (`start_mod` is that of its start value); with it `mac_restore` is exact for low sums of
// FIELD + MOD_BITS signed bits, so that a chain has no longest length.
module mac_column #(
    parameter int TAPS = 9,
    parameter int FIELD = 18,
    parameter int WIDE_BITS = 8,
    parameter int NARROW_BITS = 9,
    parameter int MOD_BITS = 0,
    localparam int MOD_WIDTH = MOD_BITS > 0 ? MOD_BITS : 1
) (
    input wire clk,
    input wire [TAPS*WIDE_BITS-1:0] hi,
    input wire [TAPS*WIDE_BITS-1:0] lo,
    input wire [TAPS*NARROW_BITS-1:0] narrow,
    input wire [TAPS-1:0] load_wide,
    input wire [TAPS-1:0] load_narrow,
    input wire [47:0] start,
    input wire [MOD_WIDTH-1:0] start_mod,
    output wire [47:0] p,
    output wire [MOD_WIDTH-1:0] mod
);
  wire [48*(TAPS+1)-1:0] cascade;
  wire [48*TAPS-1:0] sums;
  assign cascade[47:0] = '0;
  assign p = sums[48*(TAPS-1)+:48];

  genvar t;
  generate
    for (t = 0; t < TAPS; t = t + 1) begin : g_tap
      wire [WIDE_BITS-1:0] hi_now = hi[WIDE_BITS*t+:WIDE_BITS];
      wire [WIDE_BITS-1:0] lo_now = lo[WIDE_BITS*t+:WIDE_BITS];
      wire [NARROW_BITS-1:0] narrow_now = narrow[NARROW_BITS*t+:NARROW_BITS];
      wire [26:0] hi_wide = {{(27 - WIDE_BITS) {hi_now[WIDE_BITS-1]}}, hi_now};
      dsp48e2 slice (
          .clk,
          .rst(1'b0),
          .a(hi_wide << FIELD),
          .b({{(18 - NARROW_BITS) {narrow_now[NARROW_BITS-1]}}, narrow_now}),
          .c(t == 0 ? start : 48'd0),
          .d({{(27 - WIDE_BITS) {lo_now[WIDE_BITS-1]}}, lo_now}),
          .ce_a(load_wide[t]),
          .ce_b(load_narrow[t]),
          .ce_d(load_wide[t]),
          .inmode(5'b00100),
          .opmode({2'b00, t == 0 ? 3'b011 : 3'b001, 4'b0101}),
          .pcin(cascade[48*t+:48]),
          .pcout(cascade[48*(t+1)+:48]),
          .p(sums[48*t+:48])
      );
    end
    if (MOD_BITS > 0) begin : g_mod
      logic [MOD_BITS-1:0] w[0:TAPS-1], x[0:TAPS-1], sum[0:TAPS-1];
      logic [MOD_BITS-1:0] late, later;
      for (t = 0; t < TAPS; t = t + 1) begin : g_tap
        wire [MOD_BITS-1:0] previous;
        if (t == 0) begin : g_first
          assign previous = start_mod;
        end else begin : g_later
          assign previous = sum[t-1];
        end
        always_ff @(posedge clk) begin
          if (load_wide[t]) w[t] <= hi[WIDE_BITS*t+:MOD_BITS];
          if (load_narrow[t]) x[t] <= narrow[NARROW_BITS*t+:MOD_BITS];
          sum[t] <= previous + w[t] * x[t];
        end
      end
      always_ff @(posedge clk) begin
        late <= sum[TAPS-1];
        later <= late;
      end
      assign mod = later;
    end else begin : g_no_mod
      assign mod = '0;
      wire unused = &{1'b0, start_mod};
    end
  endgenerate
  wire unused = &{1'b0, cascade[48*TAPS+:48], sums};
endmodule
