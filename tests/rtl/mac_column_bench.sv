// A packed column of the vendor's slices against sums in 32-bit integers: operands with many
// corners, random start values, loads that skip cycles. Tap t sees everything t clocks late.
// Prints the cycles whose low sum fits and those of them that are wrong, the cycles beyond and those
// of them that are wrong.
`timescale 1ns / 1ps
module mac_column_bench;
  parameter integer TAPS = 9;
  parameter integer MOD_BITS = 0;
  parameter integer UNSIGNED = 0;  // narrow operands 0..255 instead of -128..127
  parameter integer HOLD = 0;  // 0: every operand is loaded, 1: wide, 2: narrow ones hold
  parameter integer SEED = 1;
  parameter integer CYCLES = 1000;
  localparam integer FIELD = 18;
  localparam integer LOW_BITS = FIELD + MOD_BITS;
  localparam integer LATENCY = TAPS + 4;
  localparam integer PAST = 128;

  reg clk = 0;
  always #1 clk = ~clk;
  // What arrives in cycle n at tap 0, by n modulo PAST.
  reg [8*TAPS-1:0] hi_at[0:PAST-1], lo_at[0:PAST-1];
  reg [9*TAPS-1:0] narrow_at[0:PAST-1];
  reg load_at[0:PAST-1];
  integer start_hi[0:PAST-1], start_lo[0:PAST-1], low_at[0:PAST-1], high_at[0:PAST-1];

  reg [8*TAPS-1:0] hi = 0, lo = 0;
  reg [9*TAPS-1:0] narrow = 0;
  reg [TAPS-1:0] load_wide = 0, load_narrow = 0;
  reg [47:0] start = 0;
  reg [7:0] start_mod = 0;
  wire [47:0] p;
  wire [(MOD_BITS>0?MOD_BITS:1)-1:0] mod;
  wire signed [LOW_BITS-1:0] low;
  wire signed [24:0] high;
  mac_column #(.TAPS(TAPS), .FIELD(FIELD), .MOD_BITS(MOD_BITS)) column (
      .clk(clk), .hi(hi), .lo(lo), .narrow(narrow), .load_wide(load_wide),
      .load_narrow(load_narrow), .start(start),
      .start_mod(start_mod[(MOD_BITS>0?MOD_BITS:1)-1:0]), .p(p), .mod(mod));
  mac_restore #(.FIELD(FIELD), .MOD_BITS(MOD_BITS), .LOW_BITS(LOW_BITS), .HIGH_BITS(25)) restore (
      .clk(clk), .p(p), .mod(mod), .low(low), .high(high));

  integer seed = SEED, n, t, i, kind, same, value;
  integer fits = 0, wrong = 0, beyond = 0, beyond_wrong = 0;
  reg good;
  task draw(input integer lowest);  // from lowest to lowest + 255, corners in most cycles
    begin
      case (kind)
        0: value = lowest;
        1: value = lowest + 255;
        2: value = $unsigned($random(seed)) % 2 ? lowest : lowest + 255;
        default: value = lowest + $unsigned($random(seed)) % 256;
      endcase
    end
  endtask
  function integer signed_bits(input integer bits, input integer word);
    signed_bits = word << (32 - bits) >>> (32 - bits);
  endfunction

  initial begin
    for (i = 0; i < PAST; i = i + 1) begin
      {hi_at[i], lo_at[i], narrow_at[i], load_at[i]} = 0;
      {start_hi[i], start_lo[i], low_at[i], high_at[i]} = 0;
    end
    #201;
    for (n = 0; n < CYCLES; n = n + 1) begin
      @(posedge clk);
      #0.1;
      i = (n + PAST - LATENCY) % PAST;
      if (n > PAST) begin
        good = low === low_at[i][LOW_BITS-1:0] && high === high_at[i][24:0];
        if (signed_bits(LOW_BITS, low_at[i]) == low_at[i]) begin
          fits = fits + 1;
          if (!good) wrong = wrong + 1;
          if (!good && wrong < 4)
            $display("%0d: %0d %0d, not %0d %0d", n, low, high, low_at[i], high_at[i]);
        end else begin
          beyond = beyond + 1;
          if (!good) beyond_wrong = beyond_wrong + 1;
        end
      end
      // What arrives now, and the sums that come of it.
      i = n % PAST;
      same = (n + PAST - 1) % PAST;
      load_at[i] = HOLD == 0 || $unsigned($random(seed)) % 3 == 0;
      for (t = 0; t < TAPS; t = t + 1) begin
        kind = t == 0 ? $unsigned($random(seed)) % 5 : kind;
        draw(-128); hi_at[i][8*t+:8] = value;
        draw(-128); lo_at[i][8*t+:8] = value;
        draw(UNSIGNED ? 0 : -128); narrow_at[i][9*t+:9] = value;
      end
      if (!load_at[i] && HOLD == 1) {hi_at[i], lo_at[i]} = {hi_at[same], lo_at[same]};
      if (!load_at[i] && HOLD == 2) narrow_at[i] = narrow_at[same];
      start_hi[i] = signed_bits(18, $random(seed));
      start_lo[i] = signed_bits(16, $random(seed));
      low_at[i] = start_lo[i];
      high_at[i] = start_hi[i];
      for (t = 0; t < TAPS; t = t + 1) begin
        value = signed_bits(9, narrow_at[i][9*t+:9]);
        low_at[i] = low_at[i] + value * signed_bits(8, lo_at[i][8*t+:8]);
        high_at[i] = high_at[i] + value * signed_bits(8, hi_at[i][8*t+:8]);
      end
      for (t = 0; t < TAPS; t = t + 1) begin
        i = (n + PAST - t) % PAST;
        hi[8*t+:8] = hi_at[i][8*t+:8];
        lo[8*t+:8] = lo_at[i][8*t+:8];
        narrow[9*t+:9] = narrow_at[i][9*t+:9];
        load_wide[t] = HOLD != 1 || load_at[i];
        load_narrow[t] = HOLD != 2 || load_at[i];
        // A tap that holds must not look at its pins.
        if (!load_wide[t]) {hi[8*t+:8], lo[8*t+:8]} = $random(seed);
        if (!load_narrow[t]) narrow[9*t+:9] = $random(seed);
      end
      i = (n + PAST - 2) % PAST;
      start = start_hi[i];
      start = (start << FIELD) + {{16{start_lo[i][31]}}, start_lo[i]};
      start_mod = start_hi[(n+PAST-1)%PAST];
    end
    $display("fits %0d wrong %0d beyond %0d wrong %0d", fits, wrong, beyond, beyond_wrong);
    $finish;
  end
endmodule
