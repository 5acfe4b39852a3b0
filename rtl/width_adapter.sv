// Regroups a stream for a consumer with other unroll factors: IN_LANES lanes of IN_CH_PAR codes to
// OUT_LANES lanes of OUT_CH_PAR codes, order row, column of the lane, channel group on both sides.
//
// COLUMNS pixels pass side by side. A pixel takes STEPS steps; which of them read and write is that
// of width_adapter.hpp: a step reads when the codes at hand do not fill the next output token. What
// is at hand are the last tokens that came in; an entry of the output selects, by the output's
// channel group, one of their entries. All lanes move together, when each lane that a step needs
// is ready.
module width_adapter #(
    parameter integer W = 4,
    parameter integer CH = 8,
    parameter integer IN_CH_PAR = 2,
    parameter integer IN_LANES = 2,
    parameter integer OUT_CH_PAR = 4,
    parameter integer OUT_LANES = 1,
    parameter integer BITS = 8
) (
    input  logic                                      clk,
    input  logic                                      rst,
    input  logic [ IN_LANES-1:0]                      in_valid,
    output logic [ IN_LANES-1:0]                      in_ready,
    input  logic [ IN_LANES-1:0][ IN_CH_PAR*BITS-1:0] in_data,
    output logic [OUT_LANES-1:0]                      out_valid,
    input  logic [OUT_LANES-1:0]                      out_ready,
    output logic [OUT_LANES-1:0][OUT_CH_PAR*BITS-1:0] out_data
);
  function automatic integer gcd(input integer a, input integer b);
    integer x, y, rest;
    begin
      x = a;
      y = b;
      while (y != 0) begin
        rest = x % y;
        x = y;
        y = rest;
      end
      gcd = x;
    end
  endfunction

  localparam integer IN_WIDTH = IN_CH_PAR * BITS;
  localparam integer COLUMNS = gcd(IN_LANES, OUT_LANES);
  localparam integer IN_PHASES = IN_LANES / COLUMNS;
  localparam integer OUT_PHASES = OUT_LANES / COLUMNS;
  localparam integer COLUMN_GROUPS = (W + COLUMNS - 1) / COLUMNS;
  localparam integer RAGGED = W % COLUMNS;
  // Where every row fills all lanes, nothing depends on where a row ends.
  localparam EVEN = W % IN_LANES == 0 && W % OUT_LANES == 0;
  // The schedule repeats after PIXEL codes.
  localparam integer CIRCLE = IN_CH_PAR / gcd(IN_CH_PAR, OUT_CH_PAR) * OUT_CH_PAR;
  localparam integer PIXEL = EVEN && IN_LANES == OUT_LANES && CH % CIRCLE == 0 ? CIRCLE : CH;
  localparam integer OUT_GROUPS = (PIXEL + OUT_CH_PAR - 1) / OUT_CH_PAR;

  // Codes there are after `tokens` of `size` codes.
  function automatic integer codes(input integer tokens, input integer size);
    codes = tokens * size < PIXEL ? tokens * size : PIXEL;
  endfunction

  function automatic integer count_steps(input integer start);
    integer read, written;
    begin
      count_steps = start;
      read = 0;
      written = 0;
      while (written < OUT_GROUPS) begin
        if (codes(read, IN_CH_PAR) < codes(written + 1, OUT_CH_PAR)) read = read + 1;
        if (codes(read, IN_CH_PAR) >= codes(written + 1, OUT_CH_PAR)) written = written + 1;
        count_steps = count_steps + 1;
      end
    end
  endfunction
  localparam integer STEPS = count_steps(0);

  // Tokens read when the step's token has come in (which = 0), or written before the step (1).
  function automatic [STEPS*16-1:0] token_counts(input integer which);
    integer read, written, s;
    begin
      read = 0;
      written = 0;
      for (s = 0; s < STEPS; s = s + 1) begin
        if (codes(read, IN_CH_PAR) < codes(written + 1, OUT_CH_PAR)) read = read + 1;
        token_counts[s*16+:16] = which == 0 ? 16'(read) : 16'(written);
        if (codes(read, IN_CH_PAR) >= codes(written + 1, OUT_CH_PAR)) written = written + 1;
      end
    end
  endfunction
  localparam [STEPS*16-1:0] READ = token_counts(0);
  localparam [STEPS*16-1:0] WRITTEN = token_counts(1);

  function automatic integer read_by(input integer s);
    read_by = s < 0 ? 0 : 32'(READ[s*16+:16]);
  endfunction
  function automatic step_reads(input integer s);
    step_reads = read_by(s) != read_by(s - 1);
  endfunction
  function automatic step_writes(input integer s);
    step_writes = s == STEPS - 1 || WRITTEN[s*16+:16] != WRITTEN[(s+1)*16+:16];
  endfunction
  // Where the newest input token is when an output token leaves, by output token: its number, one
  // more if it came in before that step.
  function automatic [OUT_GROUPS*16-1:0] newest_tokens(input integer start);
    integer s, group;
    begin
      group = start;
      for (s = 0; s < STEPS; s = s + 1) begin
        if (step_writes(s)) begin
          newest_tokens[group*16+:16] = 16'(read_by(s) - (step_reads(s) ? 1 : 0));
          group = group + 1;
        end
      end
    end
  endfunction
  localparam [OUT_GROUPS*16-1:0] NEWEST = newest_tokens(0);

  function automatic integer oldest(input integer start);
    integer group, age;
    begin
      oldest = start;
      for (group = 0; group < OUT_GROUPS; group = group + 1) begin
        age = 32'(NEWEST[group*16+:16]) - group * OUT_CH_PAR / IN_CH_PAR;
        if (age > oldest) oldest = age;
      end
    end
  endfunction
  localparam integer KEPT = oldest(1);

  // ---- control -------------------------------------------------------------------------------
  localparam integer STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1;
  localparam integer GROUP_BITS = OUT_GROUPS > 1 ? $clog2(OUT_GROUPS) : 1;
  localparam integer IN_PHASE_BITS = IN_PHASES > 1 ? $clog2(IN_PHASES) : 1;
  localparam integer OUT_PHASE_BITS = OUT_PHASES > 1 ? $clog2(OUT_PHASES) : 1;
  logic [STEP_BITS-1:0] step;
  logic [GROUP_BITS-1:0] group;
  logic [IN_PHASE_BITS-1:0] in_phase;
  logic [OUT_PHASE_BITS-1:0] out_phase;
  logic [COLUMNS-1:0] exists;
  logic [IN_LANES-1:0] reads;
  logic [OUT_LANES-1:0] writes;
  logic row_end;
  logic [(1<<STEP_BITS)-1:0] reading, writing;
  wire go = &(in_valid | ~reads) & &(out_ready | ~writes);
  wire pixel_end = go & (step == STEP_BITS'(STEPS - 1));
  assign in_ready = go ? reads : '0;
  assign out_valid = go ? writes : '0;

  counter #(.COUNT(STEPS)) steps (.clk, .rst, .step(go), .restart(1'b0), .value(step));
  counter #(.COUNT(OUT_GROUPS)) out_groups (
      .clk, .rst, .step(go & writing[step]), .restart(1'b0), .value(group));
  counter #(.COUNT(IN_PHASES)) in_phases (
      .clk, .rst, .step(pixel_end), .restart(row_end), .value(in_phase));
  counter #(.COUNT(OUT_PHASES)) out_phases (
      .clk, .rst, .step(pixel_end), .restart(row_end), .value(out_phase));

  genvar s, g, k, l, c;
  generate
    if (EVEN) begin : g_even
      assign row_end = 1'b0;
    end else begin : g_rows
      ring_count #(.COUNT(COLUMN_GROUPS)) groups (.clk, .rst, .step(pixel_end), .last(row_end));
    end
    for (c = 0; c < COLUMNS; c = c + 1) begin : g_exists
      assign exists[c] = !(RAGGED != 0 && c >= RAGGED && row_end);
    end

    for (s = 0; s < 1 << STEP_BITS; s = s + 1) begin : g_step
      assign reading[s] = step_reads(s < STEPS ? s : STEPS - 1);
      assign writing[s] = step_writes(s < STEPS ? s : STEPS - 1);
    end
    for (l = 0; l < IN_LANES; l = l + 1) begin : g_reads
      assign reads[l] = reading[step] & exists[l%COLUMNS] & (in_phase == IN_PHASE_BITS'(l / COLUMNS));
    end
    for (l = 0; l < OUT_LANES; l = l + 1) begin : g_writes
      assign writes[l] =
          writing[step] & exists[l%COLUMNS] & (out_phase == OUT_PHASE_BITS'(l / COLUMNS));
    end

    // ---- data ----------------------------------------------------------------------------------
    for (c = 0; c < COLUMNS; c = c + 1) begin : g_column
      logic [(IN_WIDTH<<IN_PHASE_BITS)-1:0] lane;
      for (l = 0; l < 1 << IN_PHASE_BITS; l = l + 1) begin : g_lane
        assign lane[l*IN_WIDTH+:IN_WIDTH] = in_data[(l < IN_PHASES ? l : IN_PHASES - 1)*COLUMNS+c];
      end
      // Tokens that have come in, newest lowest; the first one comes in now.
      /* verilator lint_off UNUSEDSIGNAL */
      // Which entries an output needs depends on the factors; synthesis drops the others.
      logic [(KEPT+1)*IN_WIDTH-1:0] kept;
      /* verilator lint_on UNUSEDSIGNAL */
      assign kept[IN_WIDTH-1:0] = lane[in_phase*IN_WIDTH+:IN_WIDTH];
      always_ff @(posedge clk)
        if (go & reading[step]) kept[KEPT*IN_WIDTH+IN_WIDTH-1:IN_WIDTH] <= kept[KEPT*IN_WIDTH-1:0];

      logic [OUT_CH_PAR*BITS-1:0] token;
      for (k = 0; k < OUT_CH_PAR; k = k + 1) begin : g_entry
        logic [(BITS<<GROUP_BITS)-1:0] choices;
        for (g = 0; g < 1 << GROUP_BITS; g = g + 1) begin : g_choice
          localparam integer AT = g < OUT_GROUPS ? g : OUT_GROUPS - 1;
          localparam integer CODE = AT * OUT_CH_PAR + k;
          localparam integer PLACE =
              (32'(NEWEST[AT*16+:16]) - CODE / IN_CH_PAR) * IN_WIDTH + CODE % IN_CH_PAR * BITS;
          if (CODE < PIXEL) begin : g_code
            assign choices[g*BITS+:BITS] = kept[PLACE+:BITS];
          end else begin : g_none
            assign choices[g*BITS+:BITS] = '0;
          end
        end
        assign token[k*BITS+:BITS] = choices[group*BITS+:BITS];
      end
      for (l = 0; l < OUT_PHASES; l = l + 1) begin : g_out
        assign out_data[l*COLUMNS+c] = token;
      end
    end
  endgenerate
endmodule
