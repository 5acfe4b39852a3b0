// Tokens to 16-byte beats, the inverse of `input_dma`; bit 128 of a beat is TLAST. The last beat of a
// frame is filled up with 0. Codes of BITS bits (SIGNED: sign-extended) leave in CODE_BYTES bytes.
module output_dma #(
    parameter integer H = 4,
    parameter integer W = 4,
    parameter integer CH = 3,
    parameter integer CH_PAR = 3,
    parameter integer LANES = 1,
    parameter integer CODE_BYTES = 1,
    parameter integer BITS = 8,
    parameter integer SIGNED = 0
) (
    input  logic                              clk,
    input  logic                              rst,
    input  logic [LANES-1:0]                  in_valid,
    output logic [LANES-1:0]                  in_ready,
    input  logic [LANES-1:0][CH_PAR*BITS-1:0] in_data,
    output logic                              out_valid,
    input  logic                              out_ready,
    output logic [    128:0]                  out_data
);
`include "byte_place.svh"
  localparam integer TOKEN = CH_PAR * CODE_BYTES;
  localparam integer GROUPS = (CH + CH_PAR - 1) / CH_PAR;
  localparam integer TAIL = (CH - (GROUPS - 1) * CH_PAR) * CODE_BYTES;
  localparam integer PARTS = (TOKEN + 15) / 16;  // cycles of a token
  localparam integer REST = H * W * CH * CODE_BYTES % 16;  // bytes of the last beat if it is not full
  localparam integer UNIT = common_divisor(common_divisor(TOKEN, TAIL), 16);
  localparam integer PLACES = 16 / UNIT;
  localparam integer PLACE_BITS = PLACES > 1 ? $clog2(PLACES) : 1;
  localparam integer PART_BITS = PARTS > 1 ? $clog2(PARTS) : 1;
  localparam integer LANE_BITS = LANES > 1 ? $clog2(LANES) : 1;

  function automatic integer length(input integer tail);
    length = tail != 0 || GROUPS == 1 ? TAIL : TOKEN;
  endfunction
  // Beats that a token at a place completes.
  function automatic integer beats(input integer offset, input integer tail);
    beats = (offset + length(tail)) / 16;
  endfunction

  logic [PLACE_BITS-1:0] place;
  logic [PART_BITS-1:0] part;
  logic [LANE_BITS-1:0] lane;
  logic tail, row_end, frame_end, rest;
  logic [2*PLACES*PARTS-1:0] completing;
  localparam integer AT_BITS = $clog2(2 * PLACES * PARTS);
  wire [AT_BITS-1:0] at =
      AT_BITS'((32'(tail) * PLACES + (PLACES > 1 ? 32'(place) : 0)) * PARTS + 32'(part));
  wire first = part == '0;
  wire last = part == PART_BITS'(PARTS - 1);
  wire writes = completing[at] | rest;
  wire reads = first & ~rest;
  wire go = (in_valid[lane] | ~reads) & (out_ready | ~writes);
  wire token_end = go & last & ~rest;
  wire pixel_end = token_end & tail;
  assign out_valid = go & writes;

  counter #(.COUNT(PARTS)) parts (.clk, .rst, .step(go & ~rest), .restart(1'b0), .value(part));
  ring_count #(.COUNT(GROUPS)) groups (.clk, .rst, .step(token_end), .last(tail));
  ring_count #(.COUNT(H * W)) frame (.clk, .rst, .step(pixel_end), .last(frame_end));
  counter #(.COUNT(LANES)) lanes (
      .clk, .rst, .step(pixel_end), .restart(row_end), .value(lane));

  genvar s, t, p, b, k, l;
  generate
    if (W % LANES == 0) begin : g_even
      assign row_end = 1'b0;
    end else begin : g_rows
      ring_count #(.COUNT(W)) columns (.clk, .rst, .step(pixel_end), .last(row_end));
    end
    if (REST == 0) begin : g_whole_beats
      assign rest = 1'b0;
      localparam integer LAST_PART = beats((16 - TAIL % 16) % 16, 1) - 1;
      assign out_data[128] = frame_end & tail & (part == PART_BITS'(LAST_PART));
    end else begin : g_rest
      always_ff @(posedge clk)
        if (rst) rest <= 1'b0;
        else if (go) rest <= pixel_end & frame_end;
      assign out_data[128] = rest;
    end
    if (PLACES == 1) begin : g_aligned
      assign place = '0;
    end else begin : g_places
      always_ff @(posedge clk)
        if (rst | (pixel_end & frame_end)) place <= '0;
        else if (token_end) place <= place + (tail ? PLACE_BITS'(TAIL / UNIT) : PLACE_BITS'(TOKEN / UNIT));
    end
    for (t = 0; t < 2; t = t + 1) begin : g_completing_tail
      for (s = 0; s < PLACES; s = s + 1) begin : g_place
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
          assign completing[(t*PLACES+s)*PARTS+p] = p < beats(s * UNIT, t);
        end
      end
    end
    for (l = 0; l < LANES; l = l + 1) begin : g_ready
      assign in_ready[l] = go & reads & (lane == LANE_BITS'(l));
    end
  endgenerate

  // ---- data: the token, the bytes of its beat that came before -----------------------------------
  logic [CH_PAR*BITS-1:0] codes;
  logic [TOKEN*8-1:0] fresh, bytes;
  logic [127:0] held;
  assign codes = in_data[lane];
  generate
    for (k = 0; k < CH_PAR; k = k + 1) begin : g_code
      wire sign = SIGNED != 0 ? codes[k*BITS+BITS-1] : 1'b0;
      assign fresh[k*CODE_BYTES*8+:CODE_BYTES*8] = (CODE_BYTES * 8)'({{64{sign}}, codes[k*BITS+:BITS]});
    end
    if (PARTS == 1) begin : g_narrow
      assign bytes = fresh;
    end else begin : g_wide
      logic [TOKEN*8-1:0] kept;
      always_ff @(posedge clk) if (go & reads) kept <= fresh;
      assign bytes = first ? fresh : kept;
    end

    for (b = 0; b < 16; b = b + 1) begin : g_byte
      // What goes out by place and part, what is held by place and tail.
      logic [(8<<PLACE_BITS)*PARTS-1:0] out_choices;
      logic [(16<<PLACE_BITS)-1:0] held_choices;
      logic [(2<<PLACE_BITS)-1:0] holds;
      for (s = 0; s < 1 << PLACE_BITS; s = s + 1) begin : g_place
        // A place too low to complete a beat may show what the lowest one that does shows.
        localparam integer LOWEST = TOKEN >= 16 ? 0 : (16 - TOKEN + UNIT - 1) / UNIT * UNIT;
        localparam integer OFFSET = s % PLACES * UNIT;
        localparam integer SHOWN = OFFSET < LOWEST ? LOWEST : OFFSET;
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
          localparam integer FROM = p * 16 + b - SHOWN;
          if (FROM < 0) begin : g_held
            assign out_choices[((p<<PLACE_BITS)+s)*8+:8] = held[b*8+:8];
          end else begin : g_token
            assign out_choices[((p<<PLACE_BITS)+s)*8+:8] = bytes[(FROM<TOKEN?FROM : FROM%TOKEN)*8+:8];
          end
        end
        for (t = 0; t < 2; t = t + 1) begin : g_tail
          localparam integer FROM =
              PARTS == 1 ? (b + 16 - OFFSET) % 16 : beats(OFFSET, t) * 16 + b - OFFSET;
          assign holds[(t<<PLACE_BITS)+s] = FROM >= 0 && FROM < length(t);
          assign held_choices[((t<<PLACE_BITS)+s)*8+:8] =
              bytes[(FROM<0 ? 0 : FROM<TOKEN ? FROM : FROM%TOKEN)*8+:8];
        end
      end
      localparam integer CHOICE_BITS = PLACE_BITS + 1;
      wire [CHOICE_BITS-1:0] choice = {tail, place};
      always_ff @(posedge clk)
        if (token_end && holds[choice]) held[b*8+:8] <= held_choices[choice*8+:8];
      wire [7:0] out = out_choices[((32'(part)<<PLACE_BITS)+32'(place))*8+:8];
      assign out_data[b*8+:8] = rest ? (b < REST ? held[b*8+:8] : 8'd0) : out;
    end
  endgenerate
endmodule
