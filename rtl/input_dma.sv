// 16-byte beats to tokens: one token per cycle (one beat per cycle where a token is wider), lane
// column mod LANES, order row, column, channel group. A frame is H*W*CH little-endian codes of
// CODE_BYTES bytes, NHWC, without gaps; it starts with a beat of its own.
//
// Byte b of a token is selected from the last beats by the token's place in its beat.
module input_dma #(
    parameter integer H = 4,
    parameter integer W = 4,
    parameter integer CH = 3,
    parameter integer CH_PAR = 3,
    parameter integer LANES = 1,
    parameter integer CODE_BYTES = 1,
    parameter integer BITS = 8
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic                               in_valid,
    output logic                               in_ready,
    input  logic [      127:0]                 in_data,
    output logic [LANES-1:0]                   out_valid,
    input  logic [LANES-1:0]                   out_ready,
    output logic [LANES-1:0][CH_PAR*BITS-1:0]  out_data
);
`include "byte_place.svh"
  localparam integer TOKEN = CH_PAR * CODE_BYTES;
  localparam integer GROUPS = (CH + CH_PAR - 1) / CH_PAR;
  localparam integer TAIL = (CH - (GROUPS - 1) * CH_PAR) * CODE_BYTES;
  localparam integer PARTS = (TOKEN + 15) / 16;  // cycles of a token
  localparam integer UNIT = common_divisor(common_divisor(TOKEN, TAIL), 16);
  localparam integer PLACES = 16 / UNIT;
  localparam integer PLACE_BITS = PLACES > 1 ? $clog2(PLACES) : 1;
  localparam integer PART_BITS = PARTS > 1 ? $clog2(PARTS) : 1;
  localparam integer LANE_BITS = LANES > 1 ? $clog2(LANES) : 1;
  // Whether the tail's bytes lie elsewhere than those of a whole token.
  localparam integer TAILS = GROUPS > 1 && TAIL != TOKEN && PARTS > 1 ? 2 : 1;

  // Bytes still there when a token begins, bytes of the token, beats it takes.
  function automatic integer left(input integer offset);
    left = (16 - offset) % 16;
  endfunction
  function automatic integer length(input integer tail);
    length = tail != 0 || GROUPS == 1 ? TAIL : TOKEN;
  endfunction
  function automatic integer beats(input integer offset, input integer tail);
    beats = length(tail) <= left(offset) ? 0 : (length(tail) - left(offset) + 15) / 16;
  endfunction

  logic [PLACE_BITS-1:0] place;
  logic [PART_BITS-1:0] part;
  logic [LANE_BITS-1:0] lane;
  logic tail, row_end, frame_end;
  logic [2*PLACES*PARTS-1:0] reading;
  localparam integer READ_BITS = $clog2(2 * PLACES * PARTS);
  wire [READ_BITS-1:0] at =
      READ_BITS'((32'(tail) * PLACES + (PLACES > 1 ? 32'(place) : 0)) * PARTS + 32'(part));
  wire reads = reading[at];
  wire last = part == PART_BITS'(PARTS - 1);
  wire go = (in_valid | ~reads) & (out_ready[lane] | ~last);
  wire token_end = go & last;
  wire pixel_end = token_end & tail;
  assign in_ready = go & reads;

  counter #(.COUNT(PARTS)) parts (.clk, .rst, .step(go), .restart(1'b0), .value(part));
  ring_count #(.COUNT(GROUPS)) groups (.clk, .rst, .step(token_end), .last(tail));
  counter #(.COUNT(LANES)) lanes (
      .clk, .rst, .step(pixel_end), .restart(row_end), .value(lane));

  genvar s, t, p, b, l;
  generate
    if (W % LANES == 0) begin : g_even
      assign row_end = 1'b0;
    end else begin : g_rows
      ring_count #(.COUNT(W)) columns (.clk, .rst, .step(pixel_end), .last(row_end));
    end
    if (H * W * CH * CODE_BYTES % 16 == 0) begin : g_whole_beats
      assign frame_end = 1'b0;
    end else begin : g_frame
      ring_count #(.COUNT(H * W)) frame (.clk, .rst, .step(pixel_end), .last(frame_end));
    end
    if (PLACES == 1) begin : g_aligned
      assign place = '0;
    end else begin : g_places
      always_ff @(posedge clk)
        if (rst | (pixel_end & frame_end)) place <= '0;
        else if (token_end) place <= place + (tail ? PLACE_BITS'(TAIL / UNIT) : PLACE_BITS'(TOKEN / UNIT));
    end
    for (t = 0; t < 2; t = t + 1) begin : g_reading_tail
      for (s = 0; s < PLACES; s = s + 1) begin : g_place
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
          assign reading[(t*PLACES+s)*PARTS+p] = p < beats(s * UNIT, t);
        end
      end
    end
  endgenerate

  // The last beats, newest lowest; the first one comes in now.
  /* verilator lint_off UNUSEDSIGNAL */
  // Which bytes of older beats a token needs depends on the sizes.
  logic [(PARTS+2)*128-1:0] kept;
  logic [TOKEN*8-1:0] bytes;
  /* verilator lint_on UNUSEDSIGNAL */
  assign kept[127:0] = in_data;
  always_ff @(posedge clk) if (go & reads) kept[(PARTS+2)*128-1:128] <= kept[(PARTS+1)*128-1:0];

  localparam integer CHOICES = TAILS << PLACE_BITS;
  localparam integer CHOICE_BITS = CHOICES > 1 ? $clog2(CHOICES) : 1;
  wire [CHOICE_BITS-1:0] choice = CHOICE_BITS'(
      (TAILS == 2 && tail ? 1 << PLACE_BITS : 0) + (PLACES > 1 ? 32'(place) : 0));
  logic [LANES-1:0][CH_PAR*BITS-1:0] tokens;
  generate
    for (b = 0; b < TOKEN; b = b + 1) begin : g_byte
      logic [(8<<CHOICE_BITS)-1:0] choices;
      for (s = 0; s < 1 << CHOICE_BITS; s = s + 1) begin : g_choice
        localparam integer OFFSET = s % PLACES * UNIT;
        localparam integer IS_TAIL = s >> PLACE_BITS;
        // Beat of the byte, of the token's last byte, both counted from the token's first beat.
        localparam integer BEAT = (OFFSET + b) / 16;
        localparam integer NEWEST =
            (OFFSET + (PARTS > 1 ? length(IS_TAIL) : BEAT == 0 ? 1 : TOKEN) - 1) / 16;
        localparam integer WAITS =
            PARTS > 1 ? (beats(OFFSET, IS_TAIL) == PARTS ? 0 : 1)
                                    : BEAT == 0 && OFFSET != 0 ? 1 : 0;
        localparam integer AGE = NEWEST < BEAT ? 0 : NEWEST - BEAT + WAITS;
        assign choices[s*8+:8] = kept[AGE*128+(OFFSET+b)%16*8+:8];
      end
      assign bytes[b*8+:8] = choices[choice*8+:8];
    end
    for (l = 0; l < LANES; l = l + 1) begin : g_lane
      assign out_valid[l] = token_end & (lane == LANE_BITS'(l));
      for (b = 0; b < CH_PAR; b = b + 1) begin : g_code
        // Entries beyond the last channel are 0.
        assign tokens[l][b*BITS+:BITS] =
            (b * CODE_BYTES >= TAIL && tail) ? '0 : bytes[b*CODE_BYTES*8+:BITS];
      end
    end
  endgenerate
  assign out_data = tokens;
  wire unused = &{1'b0, frame_end};
endmodule
