// A whole width adapter: IN_LANES lanes of IN_PAR codes to OUT_LANES lanes of OUT_PAR codes, CHANNELS
// codes a pixel. gcd(IN_LANES, OUT_LANES) columns side by side pass a buffer each, by a schedule that
// is a constant table over the steps. INDEXED = 0: one shifter writes the buffer; 1: every code is
// written at an index that varies, as the C++ says it.
module width_adapter #(
    parameter CHANNELS = 16,
    parameter WIDE = 32,
    parameter IN_PAR = 4,
    parameter OUT_PAR = 1,
    parameter IN_LANES = 1,
    parameter OUT_LANES = 1,
    parameter BITS = 8,
    parameter INDEXED = 0
) (
    input clk,
    input reset,
    input [IN_LANES-1:0] in_valid,
    input [IN_LANES*IN_PAR*BITS-1:0] in,
    input [OUT_LANES-1:0] out_ready,
    output [IN_LANES-1:0] in_read,
    output [OUT_LANES-1:0] out_write,
    output [OUT_LANES*OUT_PAR*BITS-1:0] out
);
  function integer gcd(input integer a, input integer b);
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
  function integer least(input integer a, input integer b);
    least = a < b ? a : b;
  endfunction
  // Steps of a pixel (step < 0), or {codes held, reads, writes} of one of them.
  function integer schedule(input integer step);
    integer s, r, w, held, arrived, needed;
    begin
      r = 0;
      w = 0;
      schedule = 0;
      s = 0;
      while (w * OUT_PAR < CHANNELS) begin
        arrived = least(r * IN_PAR, CHANNELS);
        needed = least((w + 1) * OUT_PAR, CHANNELS);
        held = arrived - w * OUT_PAR;
        if (s == step) schedule = arrived < needed ? 4 * held + 2 : 0;
        if (arrived < needed) r = r + 1;
        arrived = least(r * IN_PAR, CHANNELS);
        if (s == step && arrived >= needed) schedule = schedule + 1;
        if (arrived >= needed) w = w + 1;
        s = s + 1;
      end
      if (step < 0) schedule = s;
    end
  endfunction
  localparam COLUMNS = gcd(IN_LANES, OUT_LANES);
  localparam STEPS = schedule(-1);
  localparam CAPACITY = IN_PAR + OUT_PAR;
  localparam HELD = $clog2(CAPACITY + 1);
  localparam IN_TURNS = IN_LANES / COLUMNS;
  localparam OUT_TURNS = OUT_LANES / COLUMNS;
  localparam PIXELS = WIDE / COLUMNS;

  wire [HELD+1:0] entry[0:STEPS-1];
  genvar s, c, t;
  generate
    for (s = 0; s < STEPS; s = s + 1) begin : table_of_steps
      assign entry[s] = schedule(s);
    end
  endgenerate
  reg [$clog2(STEPS+1)-1:0] step;
  reg [$clog2(PIXELS)-1:0] pixel;
  reg [IN_TURNS-1:0] in_turn;
  reg [OUT_TURNS-1:0] out_turn;
  wire [HELD+1:0] now = STEPS == 1 ? entry[0] : entry[step];
  wire reads = now[1];
  wire writes = now[0];
  wire [HELD-1:0] held = now[HELD+1:2];
  wire [IN_TURNS-1:0] in_ok;
  wire [OUT_TURNS-1:0] out_ok;
  wire advance = (~reads | |(in_turn & in_ok)) & (~writes | |(out_turn & out_ok));
  wire last_step = STEPS == 1 || step == STEPS - 1;
  wire last_pixel = pixel == PIXELS - 1;
  always @(posedge clk)
    if (reset) begin
      step <= 0;
      pixel <= 0;
      in_turn <= 1;
      out_turn <= 1;
    end else if (advance) begin
      step <= last_step ? 0 : step + 1;
      if (last_step) begin
        pixel <= last_pixel ? 0 : pixel + 1;
        in_turn <= last_pixel ? 1 : {in_turn, in_turn[IN_TURNS-1]};
        out_turn <= last_pixel ? 1 : {out_turn, out_turn[OUT_TURNS-1]};
      end
    end
  generate
    for (t = 0; t < IN_TURNS; t = t + 1) begin : in_side
      assign in_ok[t] = &in_valid[t*COLUMNS+:COLUMNS];
      assign in_read[t*COLUMNS+:COLUMNS] = {COLUMNS{advance & reads & in_turn[t]}};
    end
    for (t = 0; t < OUT_TURNS; t = t + 1) begin : out_side
      assign out_ok[t] = &out_ready[t*COLUMNS+:COLUMNS];
      assign out_write[t*COLUMNS+:COLUMNS] = {COLUMNS{advance & writes & out_turn[t]}};
    end
    for (c = 0; c < COLUMNS; c = c + 1) begin : column
      reg [CAPACITY*BITS-1:0] buffer, next;
      reg [IN_PAR*BITS-1:0] token;
      integer k, l;
      always @* begin
        token = 0;
        for (l = 0; l < IN_TURNS; l = l + 1)
          token = token | ({IN_PAR*BITS{in_turn[l]}} & in[(l*COLUMNS+c)*IN_PAR*BITS+:IN_PAR*BITS]);
        next = buffer;
        if (reads) begin
          if (INDEXED)
            for (k = 0; k < IN_PAR; k = k + 1)
              next[(held+k)*BITS+:BITS] = token[k*BITS+:BITS];
          else next = buffer | ({{OUT_PAR * BITS{1'b0}}, token} << (held * BITS));
        end
      end
      for (t = 0; t < OUT_TURNS; t = t + 1) begin : lanes
        assign out[(t*COLUMNS+c)*OUT_PAR*BITS+:OUT_PAR*BITS] = next[OUT_PAR*BITS-1:0];
      end
      always @(posedge clk)
        if (reset) buffer <= 0;
        else if (advance) buffer <= last_step && !INDEXED ? 0 : writes ? next >> (OUT_PAR * BITS) : next;
    end
  endgenerate
endmodule
