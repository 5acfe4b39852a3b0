// The column at twice the clock, of the vendor's slices, against sums in 32-bit integers, as
// mac_column_bench. PRE edges of the fast clock come before the slow one starts.
`timescale 1ns / 1ps
module mac_column_pumped_bench;
  parameter integer SLICES = 9;
  parameter integer MOD_BITS = 0;
  parameter integer UNSIGNED = 0;
  parameter integer HOLD = 0;  // activations hold for 3 clocks on average
  parameter integer PRE = 0;
  parameter integer SEED = 1;
  parameter integer CYCLES = 600;
  localparam integer TAPS = 2 * SLICES;
  localparam integer FIELD = 18;
  localparam integer LOW_BITS = FIELD + MOD_BITS;
  localparam integer OFFSET = (SLICES + 1) % 2;
  localparam integer LATENCY = (SLICES + OFFSET + 5) / 2 + 1;
  localparam integer PAST = 128;

  reg clk = 0, clk2x = 0;
  initial begin
    repeat (PRE) begin #1 clk2x = 1; #1 clk2x = 0; end
    forever begin
      #1 clk2x = 1; clk = 1; #1 clk2x = 0;
      #1 clk2x = 1; clk = 0; #1 clk2x = 0;
    end
  end
  reg signed [7:0] hi_at[0:PAST*TAPS-1], lo_at[0:PAST*TAPS-1];
  reg signed [8:0] narrow_at[0:PAST*TAPS-1];
  reg load_at[0:PAST-1];
  integer start_hi[0:PAST-1], start_lo[0:PAST-1], low_at[0:PAST-1], high_at[0:PAST-1];

  reg load = 0;
  reg [9*TAPS-1:0] narrow = 0;
  reg [27*SLICES-1:0] wide = 0;
  reg [47:0] start = 0;
  reg [7:0] start_mod = 0;
  wire [SLICES-1:0] second;
  wire [47:0] p;
  wire [(MOD_BITS>0?MOD_BITS:1)-1:0] mod;
  wire signed [LOW_BITS-1:0] low;
  wire signed [25:0] high;
  mac_column_pumped #(.SLICES(SLICES), .FIELD(FIELD), .MOD_BITS(MOD_BITS)) column (
      .clk(clk), .clk2x(clk2x), .load(load), .narrow(narrow), .wide(wide), .start(start),
      .start_mod(start_mod[(MOD_BITS>0?MOD_BITS:1)-1:0]), .second(second), .p(p), .mod(mod));
  mac_restore #(.FIELD(FIELD), .MOD_BITS(MOD_BITS), .LOW_BITS(LOW_BITS), .HIGH_BITS(26)) restore (
      .clk(clk), .p(p), .mod(mod), .low(low), .high(high));

  integer seed = SEED, n = 0, now, k, t, i, kind, value, half;
  integer fits = 0, wrong = 0, beyond = 0, beyond_wrong = 0, phases = 0;
  reg good;
  task draw(input integer lowest);
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

  // Weights: slice k has in slot j of clock n what arrived at tap 0 k + OFFSET slots earlier.
  task drive_weights(input integer which);
    begin
      for (k = 0; k < SLICES; k = k + 1) begin
        half = 2 * n + which - k - OFFSET + 2 * PAST;
        t = 2 * k + half % 2;
        i = (half / 2) % PAST;
        wide[27*k+:27] = hi_at[i*TAPS+t] * (1 << FIELD) + lo_at[i*TAPS+t];
        if (n > PAST && second[k] !== half % 2) phases = phases + 1;
      end
    end
  endtask

  initial begin
    for (i = 0; i < PAST; i = i + 1) begin
      {load_at[i], start_hi[i], start_lo[i], low_at[i], high_at[i]} = 0;
      for (t = 0; t < TAPS; t = t + 1) {hi_at[i*TAPS+t], lo_at[i*TAPS+t], narrow_at[i*TAPS+t]} = 0;
    end
    #201;
    @(posedge clk);
    for (n = 0; n < CYCLES; n = n + 1) begin
      #0.1;
      i = (n + PAST - LATENCY) % PAST;
      if (n > PAST) begin
        good = low === low_at[i][LOW_BITS-1:0] && high === high_at[i][25:0];
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
      now = n % PAST;
      load_at[now] = HOLD == 0 || $unsigned($random(seed)) % 3 == 0;
      low_at[now] = signed_bits(16, $random(seed));
      high_at[now] = signed_bits(18, $random(seed));
      start_lo[now] = low_at[now];
      start_hi[now] = high_at[now];
      kind = $unsigned($random(seed)) % 5;
      for (t = 0; t < TAPS; t = t + 1) begin
        i = now * TAPS + t;
        draw(-128); hi_at[i] = value;
        draw(-128); lo_at[i] = value;
        draw(UNSIGNED ? 0 : -128); narrow_at[i] = value;
        if (!load_at[now]) narrow_at[i] = narrow_at[(n+PAST-1)%PAST*TAPS+t];
        low_at[now] = low_at[now] + lo_at[i] * narrow_at[i];
        high_at[now] = high_at[now] + hi_at[i] * narrow_at[i];
      end
      load = load_at[now];
      for (k = 0; k < SLICES; k = k + 1) begin
        i = (n + PAST - (k + OFFSET) / 2) % PAST;
        narrow[18*k+:9] = load_at[i] ? narrow_at[i*TAPS+2*k] : $random(seed);
        narrow[18*k+9+:9] = load_at[i] ? narrow_at[i*TAPS+2*k+1] : $random(seed);
      end
      i = (n + PAST - 1) % PAST;
      start = start_hi[i];
      start = (start << FIELD) + {{16{start_lo[i][31]}}, start_lo[i]};
      start_mod = start_hi[(n+PAST-OFFSET)%PAST];
      drive_weights(0);
      @(posedge clk2x);
      #0.1;
      drive_weights(1);
      @(posedge clk);
    end
    $display("fits %0d wrong %0d beyond %0d wrong %0d phases %0d", fits, wrong, beyond,
             beyond_wrong, phases);
    $finish;
  end
endmodule
