// A whole computation task: control, operand registers, multipliers, sums, accumulators, requantisers.
//
// One iteration a cycle while every port is ready; an iteration has FH*FW*ICH_PAR taps (TAPS) for
// OW_PAR columns and OCH_PAR output channels. DSP = 1: two products share a DSP48E2 (two columns,
// or two channels of an odd last column); TAPS are cut into CHAINS cascades, and the operands of a
// cascade's k-th DSP wait k cycles. The delayed operands are shared by all cascades that need them.
// DSP = 0: multipliers of carry chains and an adder tree.
//
// SKIP = 1 requantises twice and adds a skip code in between. Sizes in codes, widths in bits.

// P = (A * 2^18 + D) * B + PCIN, all registers used; FIRST: without PCIN.
module packed_product #(
    parameter FIRST = 0
) (
    input clk,
    input enable,
    input signed [8:0] high,
    input signed [8:0] low,
    input signed [17:0] factor,
    input [47:0] pcin,
    output [47:0] pcout,
    output [47:0] p
);
  wire [26:0] a = {high, 18'd0};
  wire [26:0] d = {{18{low[8]}}, low};
  DSP48E2 #(
      .AMULTSEL("AD"), .BMULTSEL("B"), .PREADDINSEL("A"), .AREG(1), .ACASCREG(1), .BREG(2),
      .BCASCREG(2), .DREG(1), .ADREG(1), .MREG(1), .PREG(1), .USE_MULT("MULTIPLY")
  ) slice (
      .CLK(clk), .A({{3{a[26]}}, a}), .B(factor), .C(48'd0), .D(d), .P(p), .PCOUT(pcout),
      .PCIN(pcin), .ACIN(30'd0), .BCIN(18'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
      .CARRYIN(1'b0), .CARRYINSEL(3'd0), .ALUMODE(4'd0),
      .OPMODE(FIRST ? 9'b000000101 : 9'b000010101), .INMODE(5'b00100),
      .CEA1(enable), .CEA2(enable), .CEAD(enable), .CEALUMODE(1'b1), .CEB1(enable), .CEB2(enable),
      .CEC(1'b1), .CECARRYIN(1'b1), .CECTRL(1'b1), .CED(enable), .CEINMODE(1'b1), .CEM(enable),
      .CEP(enable), .RSTA(1'b0), .RSTALLCARRYIN(1'b0), .RSTALUMODE(1'b0), .RSTB(1'b0),
      .RSTC(1'b0), .RSTCTRL(1'b0), .RSTD(1'b0), .RSTINMODE(1'b0), .RSTM(1'b0), .RSTP(1'b0)
  );
endmodule

// Product of an unsigned code and a signed weight: rows added in pairs, two rows a carry chain.
module carry_multiplier #(
    parameter CODE_BITS = 8,
    parameter WEIGHT_BITS = 8,
    parameter BITS = CODE_BITS + WEIGHT_BITS
) (
    input clk,
    input enable,
    input [CODE_BITS-1:0] code,
    input signed [WEIGHT_BITS-1:0] weight,
    output reg signed [BITS-1:0] product
);
  localparam PAIRS = (CODE_BITS + 1) / 2;
  wire [2*PAIRS-1:0] bits = code;
  wire signed [BITS-1:0] pair[0:2*PAIRS-1];
  genvar k;
  generate
    for (k = 0; k < PAIRS; k = k + 1) begin : rows
      wire signed [WEIGHT_BITS+1:0] even = bits[2*k] ? weight : 0;
      wire signed [WEIGHT_BITS+1:0] odd = bits[2*k+1] ? {weight, 1'b0} : 0;
      wire signed [WEIGHT_BITS+1:0] both = even + {{odd[WEIGHT_BITS]}, odd[WEIGHT_BITS:0]};
      assign pair[PAIRS+k] = both;
    end
    // A heap: node n adds nodes 2n and 2n+1, the higher one shifted by what the lower one covers.
    for (k = PAIRS - 1; k > 0; k = k - 1) begin : tree
      assign pair[k] = pair[2*k] + (pair[2*k+1] <<< (2 * (k >= PAIRS / 2 ? 1 : PAIRS / 2)));
    end
  endgenerate
  always @(posedge clk) if (enable) product <= pair[1];
endmodule

// Sum of COUNT numbers, each with a carry that still has to be added; a register behind every level.
// Every adder takes in one carry and hands one on, so one is left.
module adder_tree #(
    parameter COUNT = 4,
    parameter BITS = 20
) (
    input clk,
    input enable,
    input [COUNT*BITS-1:0] terms,
    input [COUNT-1:0] carries,
    output signed [BITS-1:0] sum,
    output carry
);
  generate
    if (COUNT == 1) begin : leaf
      assign sum = terms;
      assign carry = carries;
    end else begin : level
      localparam HALF = (COUNT + 1) / 2;
      reg [HALF*BITS-1:0] sums;
      reg [HALF-1:0] left;
      genvar i;
      for (i = 0; i < HALF; i = i + 1) begin : pairs
        wire [BITS:0] one = {terms[2*i*BITS+:BITS], 1'b1};
        if (2 * i + 1 < COUNT) begin : added
          wire [BITS:0] both = one + {terms[(2*i+1)*BITS+:BITS], carries[2*i]};
          always @(posedge clk)
            if (enable) begin
              sums[i*BITS+:BITS] <= both[BITS:1];
              left[i] <= carries[2*i+1];
            end
        end else begin : kept
          always @(posedge clk)
            if (enable) begin
              sums[i*BITS+:BITS] <= one[BITS:1];
              left[i] <= carries[2*i];
            end
        end
      end
      adder_tree #(.COUNT(HALF), .BITS(BITS)) rest (clk, enable, sums, left, sum, carry);
    end
  endgenerate
endmodule

// clip(round_half_even(x * 2^-SHIFT)) to CODE_BITS unsigned (SIGNED = 0) or signed bits.
module requantiser #(
    parameter IN_BITS = 20,
    parameter SHIFT = 7,
    parameter CODE_BITS = 8,
    parameter SIGNED = 0
) (
    input clk,
    input enable,
    input signed [IN_BITS-1:0] x,
    output reg [CODE_BITS-1:0] code
);
  localparam signed [IN_BITS:0] HIGHEST = SIGNED ? (1 << (CODE_BITS - 1)) - 1 : (1 << CODE_BITS) - 1;
  localparam signed [IN_BITS:0] LOWEST = SIGNED ? -(1 << (CODE_BITS - 1)) : 0;
  wire rest = |x[SHIFT-2:0];
  wire up = x[SHIFT-1] & (rest | x[SHIFT]);
  wire signed [IN_BITS:0] rounded = (x >>> SHIFT) + $signed({1'b0, up});
  always @(posedge clk)
    if (enable)
      code <= rounded > HIGHEST ? HIGHEST[CODE_BITS-1:0]
            : rounded < LOWEST ? LOWEST[CODE_BITS-1:0] : rounded[CODE_BITS-1:0];
endmodule

// The two dot products of packed operands: CHAINS cascades, restored and added.
module packed_dot #(
    parameter TAPS = 9,
    parameter CHAINS = 1,
    parameter CHAIN = (TAPS + CHAINS - 1) / CHAINS,
    parameter BITS = 21
) (
    input clk,
    input enable,
    input [TAPS*9-1:0] high,
    input [TAPS*9-1:0] low,
    input [TAPS*18-1:0] factor,
    output signed [BITS-1:0] high_sum,
    output signed [BITS-1:0] low_sum,
    output high_carry
);
  wire [TAPS*48-1:0] cascade;
  wire [TAPS*48-1:0] p;
  wire [CHAINS*BITS-1:0] highs;
  wire [CHAINS*BITS-1:0] lows;
  wire [CHAINS-1:0] borrows;
  wire low_carry;
  genvar t;
  generate
    for (t = 0; t < TAPS; t = t + 1) begin : tap
      packed_product #(.FIRST(t % CHAIN == 0)) slice (
          clk, enable, high[t*9+:9], low[t*9+:9], factor[t*18+:18],
          t % CHAIN == 0 ? 48'd0 : cascade[(t > 0 ? t - 1 : 0)*48+:48], cascade[t*48+:48],
          p[t*48+:48]
      );
      if (t % CHAIN == CHAIN - 1 || t == TAPS - 1) begin : restore
        wire [47:0] last = p[t*48+:48];
        assign lows[(t/CHAIN)*BITS+:BITS] = {{(BITS - 18) {last[17]}}, last[17:0]};
        assign highs[(t/CHAIN)*BITS+:BITS] = last[18+:BITS];
        assign borrows[t/CHAIN] = last[17];
      end
    end
  endgenerate
  adder_tree #(.COUNT(CHAINS), .BITS(BITS)) low_tree (
      clk, enable, lows, {CHAINS{1'b0}}, low_sum, low_carry
  );
  adder_tree #(.COUNT(CHAINS), .BITS(BITS)) high_tree (
      clk, enable, highs, borrows, high_sum, high_carry
  );
endmodule

module conv_task #(
    parameter KERNEL = 9,
    parameter ICH_PAR = 1,
    parameter OCH_PAR = 2,
    parameter OW_PAR = 2,
    parameter COLUMNS = OW_PAR + 2,
    parameter IN_GROUPS = 16,
    parameter OUT_GROUPS = 4,
    parameter COLUMN_GROUPS = 16,
    parameter OH = 32,
    parameter CODE_BITS = 8,
    parameter SIGNED_CODES = 0,
    parameter WEIGHT_BITS = 8,
    parameter SUM_BITS = 20,
    parameter ACC_BITS = 22,
    parameter SHIFT = 7,
    parameter OUT_BITS = 8,
    parameter DSP = 1,
    parameter CHAINS = 1,
    parameter SKIP = 0,
    parameter TAPS = KERNEL * ICH_PAR
) (
    input clk,
    input reset,
    input window_valid,
    input weights_valid,
    input [OW_PAR-1:0] skip_valid,
    input [OW_PAR-1:0] out_ready,
    // Operands of every column, tap by tap; a tap of overlapping columns is the same wire.
    input [ICH_PAR*3*COLUMNS*CODE_BITS-1:0] window,
    input [OCH_PAR*TAPS*WEIGHT_BITS-1:0] weights,
    input [OW_PAR*OCH_PAR*OUT_BITS-1:0] skip,
    output window_read,
    output weights_read,
    output [OW_PAR-1:0] skip_read,
    output [OW_PAR-1:0] out_write,
    output [OW_PAR*OCH_PAR*OUT_BITS-1:0] out
);
  function integer log2(input integer n);
    log2 = $clog2(n) > 0 ? $clog2(n) : 1;
  endfunction
  localparam CHAIN = DSP ? (TAPS + CHAINS - 1) / CHAINS : 1;
  // From the operand register to the sums: A, AD, M and a P a tap; then restoring and the tree.
  localparam SUM_STAGES = DSP ? CHAIN + 3 + $clog2(CHAINS) : 1 + $clog2(TAPS);
  localparam STAGES = SUM_STAGES + 1;
  localparam LANES = OW_PAR * OCH_PAR;

  // Control.
  reg [log2(IN_GROUPS)-1:0] icg;
  reg [log2(OUT_GROUPS)-1:0] ocg;
  reg [log2(COLUMN_GROUPS)-1:0] og;
  reg [log2(OH)-1:0] oh;
  wire needs_window = OUT_GROUPS == 1 || ocg == 0;
  wire last_ocg = OUT_GROUPS == 1 || ocg == OUT_GROUPS - 1;
  wire last_icg = IN_GROUPS == 1 || icg == IN_GROUPS - 1;
  wire last_og = COLUMN_GROUPS == 1 || og == COLUMN_GROUPS - 1;
  wire writes, finishes;
  wire takes_skip = SKIP && finishes;
  wire enable = weights_valid & (window_valid | ~needs_window) & (~writes | (&out_ready))
              & (~takes_skip | (&skip_valid));
  assign window_read = enable & needs_window;
  assign weights_read = enable;
  assign skip_read = {OW_PAR{enable & takes_skip}};
  assign out_write = {OW_PAR{enable & writes}};
  always @(posedge clk)
    if (reset) begin
      ocg <= 0;
      icg <= 0;
      og <= 0;
      oh <= 0;
    end else if (enable) begin
      ocg <= last_ocg ? 0 : ocg + 1;
      if (last_ocg) icg <= last_icg ? 0 : icg + 1;
      if (last_ocg & last_icg) og <= last_og ? 0 : og + 1;
      if (last_ocg & last_icg & last_og) oh <= oh == OH - 1 ? 0 : oh + 1;
    end
  wire first_q, last_q;
  wire [log2(OUT_GROUPS)-1:0] ocg_q;
  delay #(.WIDTH(2 + log2(OUT_GROUPS)), .CYCLES(STAGES)) follow (
      clk, enable, {icg == 0, last_icg, ocg}, {first_q, last_q, ocg_q}
  );
  delay #(.WIDTH(1), .CYCLES(1)) accumulated (clk, enable, last_q, finishes);
  delay #(.WIDTH(1), .CYCLES(1 + SKIP)) requantised (clk, enable, finishes, writes);

  // Operand registers. The window is held for all output channel groups.
  reg [ICH_PAR*3*COLUMNS*CODE_BITS-1:0] codes;
  reg [OCH_PAR*TAPS*WEIGHT_BITS-1:0] factors;
  always @(posedge clk)
    if (enable) begin
      if (needs_window) codes <= window;
      factors <= weights;
    end
  // x[l][t], w[o][t] as the multipliers of tap t take them.
  wire [CODE_BITS-1:0] x[0:OW_PAR*TAPS-1];
  wire [WEIGHT_BITS-1:0] w[0:OCH_PAR*TAPS-1];
  wire [ICH_PAR*3*COLUMNS*CODE_BITS-1:0] delayed[0:CHAIN-1];
  genvar c, i, j, l, o, t;
  localparam FW = KERNEL == 1 ? 1 : 3;
  generate
    for (t = 0; t < TAPS; t = t + 1) begin : operands
      localparam WAIT = DSP ? t % CHAIN : 0;
      for (l = 0; l < OW_PAR; l = l + 1) begin : columns
        // Input channel, kernel row, kernel column (fastest); stride COLUMNS - FW over the lanes.
        localparam STEP = OW_PAR > 1 ? (COLUMNS - FW) / (OW_PAR - 1) : 1;
        localparam AT = (t / KERNEL) * 3 * COLUMNS + ((t % KERNEL) / FW) * COLUMNS + t % FW + l * STEP;
        delay #(.WIDTH(CODE_BITS), .CYCLES(WAIT)) wait_x (
            clk, enable, codes[AT*CODE_BITS+:CODE_BITS], x[l*TAPS+t]
        );
      end
      for (o = 0; o < OCH_PAR; o = o + 1) begin : channels
        delay #(.WIDTH(WEIGHT_BITS), .CYCLES(WAIT)) wait_w (
            clk, enable, factors[(o*TAPS+t)*WEIGHT_BITS+:WEIGHT_BITS], w[o*TAPS+t]
        );
      end
    end
  endgenerate

  // sum[l * OCH_PAR + o], and a carry that still has to be added.
  wire signed [SUM_BITS-1:0] sum[0:LANES-1];
  wire [LANES-1:0] carry;
  function [8:0] code9(input [CODE_BITS-1:0] code);
    code9 = {{(9 - CODE_BITS) {SIGNED_CODES ? code[CODE_BITS-1] : 1'b0}}, code};
  endfunction
  function [8:0] weight9(input [WEIGHT_BITS-1:0] weight);
    weight9 = {{(9 - WEIGHT_BITS) {weight[WEIGHT_BITS-1]}}, weight};
  endfunction
  generate
    if (DSP) begin : packed_array
      for (o = 0; o < OCH_PAR; o = o + 1) begin : channel
        for (l = 0; l + 1 < OW_PAR; l = l + 2) begin : columns
          wire [TAPS*9-1:0] high, low;
          wire [TAPS*18-1:0] factor;
          for (t = 0; t < TAPS; t = t + 1) begin : tap
            assign high[t*9+:9] = code9(x[(l+1)*TAPS+t]);
            assign low[t*9+:9] = code9(x[l*TAPS+t]);
            assign factor[t*18+:18] = {{9{w[o*TAPS+t][WEIGHT_BITS-1]}}, weight9(w[o*TAPS+t])};
          end
          packed_dot #(.TAPS(TAPS), .CHAINS(CHAINS), .BITS(SUM_BITS)) dot (
              clk, enable, high, low, factor, sum[(l+1)*OCH_PAR+o], sum[l*OCH_PAR+o],
              carry[(l+1)*OCH_PAR+o]
          );
          assign carry[l*OCH_PAR+o] = 1'b0;
        end
      end
      if (OW_PAR % 2) begin : last_column
        for (o = 0; o < OCH_PAR; o = o + 2) begin : channels
          localparam L = OW_PAR - 1;
          localparam TWO = o + 1 < OCH_PAR;
          wire [TAPS*9-1:0] high, low;
          wire [TAPS*18-1:0] factor;
          wire signed [SUM_BITS-1:0] second;
          wire second_carry;
          for (t = 0; t < TAPS; t = t + 1) begin : tap
            assign high[t*9+:9] = TWO ? weight9(w[(o+TWO)*TAPS+t]) : 9'd0;
            assign low[t*9+:9] = weight9(w[o*TAPS+t]);
            assign factor[t*18+:18] = {{9{SIGNED_CODES ? x[L*TAPS+t][CODE_BITS-1] : 1'b0}},
                                       code9(x[L*TAPS+t])};
          end
          packed_dot #(.TAPS(TAPS), .CHAINS(CHAINS), .BITS(SUM_BITS)) dot (
              clk, enable, high, low, factor, second, sum[L*OCH_PAR+o], second_carry
          );
          assign carry[L*OCH_PAR+o] = 1'b0;
          if (TWO) begin : both
            assign sum[L*OCH_PAR+o+1] = second;
            assign carry[L*OCH_PAR+o+1] = second_carry;
          end
        end
      end
    end else begin : carry_array
      for (l = 0; l < OW_PAR; l = l + 1) begin : columns
        for (o = 0; o < OCH_PAR; o = o + 1) begin : channels
          wire [TAPS*SUM_BITS-1:0] products;
          for (t = 0; t < TAPS; t = t + 1) begin : tap
            wire signed [CODE_BITS+WEIGHT_BITS-1:0] product;
            carry_multiplier #(.CODE_BITS(CODE_BITS), .WEIGHT_BITS(WEIGHT_BITS)) multiply (
                clk, enable, x[l*TAPS+t], w[o*TAPS+t], product
            );
            wire signed [SUM_BITS-1:0] extended = product;
            assign products[t*SUM_BITS+:SUM_BITS] = extended;
          end
          adder_tree #(.COUNT(TAPS), .BITS(SUM_BITS)) tree (
              clk, enable, products, {TAPS{1'b0}}, sum[l*OCH_PAR+o], carry[l*OCH_PAR+o]
          );
        end
      end
    end
  endgenerate

  // Accumulators, requantisers.
  reg [log2(OUT_GROUPS)-1:0] ocg_w;
  reg enable_w;
  always @(posedge clk) begin
    enable_w <= enable;
    if (enable) ocg_w <= ocg_q;
  end
  wire [OCH_PAR*16-1:0] biases;
  bias_memory #(.DEPTH(OUT_GROUPS), .WIDTH(OCH_PAR * 16)) bias (ocg_q, biases);
  generate
    for (l = 0; l < OW_PAR; l = l + 1) begin : lane
      for (o = 0; o < OCH_PAR; o = o + 1) begin : channel
        localparam AT = l * OCH_PAR + o;
        wire signed [15:0] start = biases[o*16+:16];
        wire signed [ACC_BITS-1:0] base;
        reg signed [ACC_BITS-1:0] total;
        if (IN_GROUPS == 1) assign base = start;
        else if (OUT_GROUPS == 1) assign base = first_q ? start : total;
        else begin : groups
          (* ram_style = "distributed" *) reg signed [ACC_BITS-1:0] partial[0:OUT_GROUPS-1];
          wire signed [ACC_BITS-1:0] kept = partial[ocg_q];
          assign base = first_q ? start : kept;
          always @(posedge clk) if (enable_w) partial[ocg_w] <= total;
        end
        wire signed [ACC_BITS:0] with_carry = {base, 1'b1}
                                            + $signed({{(ACC_BITS - SUM_BITS) {sum[AT][SUM_BITS-1]}}, sum[AT], carry[AT]});
        always @(posedge clk) if (enable) total <= with_carry >>> 1;
        if (SKIP) begin : with_skip
          wire [OUT_BITS-1:0] first_code;
          reg signed [OUT_BITS+3:0] added;
          reg [OUT_BITS-1:0] skip_code;
          requantiser #(.IN_BITS(ACC_BITS), .SHIFT(SHIFT), .CODE_BITS(OUT_BITS), .SIGNED(1))
              first_stage (clk, enable, total, first_code);
          always @(posedge clk)
            if (enable) skip_code <= skip[AT*OUT_BITS+:OUT_BITS];
          always @* added = $signed(first_code) * 4 + $signed({1'b0, skip_code, 1'b0});
          requantiser #(.IN_BITS(OUT_BITS + 4), .SHIFT(2), .CODE_BITS(OUT_BITS))
              last_stage (clk, enable, added, out[AT*OUT_BITS+:OUT_BITS]);
        end else begin : plain
          requantiser #(.IN_BITS(ACC_BITS), .SHIFT(SHIFT), .CODE_BITS(OUT_BITS))
              last_stage (clk, enable, total, out[AT*OUT_BITS+:OUT_BITS]);
        end
      end
    end
  endgenerate
endmodule

// DEPTH pseudo-random words, in LUTs.
module bias_memory #(
    parameter DEPTH = 4,
    parameter WIDTH = 16,
    parameter POINTER = $clog2(DEPTH) > 0 ? $clog2(DEPTH) : 1
) (
    input [POINTER-1:0] address,
    output [WIDTH-1:0] word
);
  (* rom_style = "logic" *) reg [WIDTH-1:0] words[0:DEPTH-1];
  integer d, b;
  reg [31:0] state;
  initial begin
    state = 32'h1234567;
    for (d = 0; d < DEPTH; d = d + 1)
      for (b = 0; b < WIDTH; b = b + 1) begin
        state = state ^ (state << 13);
        state = state ^ (state >> 17);
        state = state ^ (state << 5);
        words[d][b] = state[7];
      end
  end
  generate
    if (DEPTH == 1) assign word = words[0];
    else assign word = words[address];
  endgenerate
endmodule
