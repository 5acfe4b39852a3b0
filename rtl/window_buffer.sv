// Windows of a picture, all rows in lock step.
//
// A step takes one token of every input lane that has one (a lane group), moves the picture on by a
// lane group and completes one window `[FH][COLUMNS][ICH_PAR]` (ICH_PAR fastest), COLUMNS = FW +
// (OW_PAR-1) * STRIDE_W, order output row, output column group, channel group. The input lane of
// window column j is (j - PAD_LEFT) mod IN_LANES. One circular memory delays all rows at once;
// padding is the synchronous reset of the output registers. Columns that no window of the group reads
// (a stride wider than the kernel) hold PAD_VALUE, as does what lies outside the picture.
//
// At the end of a frame, steps without a token push the last windows (and forwarded tokens) out; the
// next frame may come at any time, even at once: its tokens push instead. So nothing is trapped.
//
// With FORWARD every token leaves again, lane by lane, when the oldest row has it.
//
// Constraints: IN_LANES divides OW_PAR * STRIDE_W; windows start inside the picture (PAD_TOP < FH,
// PAD_LEFT < COLUMNS); a window, or with FORWARD the oldest row, comes less than a frame late.
module window_buffer #(
    parameter integer ICH = 8,
    parameter integer IH = 8,
    parameter integer IW = 8,
    parameter integer OH = 8,
    parameter integer OW = 8,
    parameter integer FH = 3,
    parameter integer FW = 3,
    parameter integer STRIDE_H = 1,
    parameter integer STRIDE_W = 1,
    parameter integer PAD_TOP = 1,
    parameter integer PAD_LEFT = 1,
    parameter integer PAD_VALUE = 0,
    parameter integer ICH_PAR = 2,
    parameter integer OW_PAR = 2,
    parameter integer IN_LANES = 2,
    parameter integer BITS = 8,
    parameter integer FORWARD = 0,
    parameter integer BLOCK = 0,  // row delays in block RAM
    // Derived; not to be set.
    parameter integer WIDTH = ICH_PAR * BITS,
    parameter integer COLUMNS = FW + (OW_PAR - 1) * STRIDE_W
) (
    input  logic                             clk,
    input  logic                             rst,
    input  logic [IN_LANES-1:0]              in_valid,
    output logic [IN_LANES-1:0]              in_ready,
    input  logic [IN_LANES-1:0][  WIDTH-1:0] in_data,
    output logic                             window_valid,
    input  logic                             window_ready,
    output logic [FH*COLUMNS*WIDTH-1:0]      window_data,
    output logic [IN_LANES-1:0]              forward_valid,
    input  logic [IN_LANES-1:0]              forward_ready,
    output logic [IN_LANES-1:0][  WIDTH-1:0] forward_data
);
`include "ring_code.svh"

  localparam integer GROUPS = (ICH + ICH_PAR - 1) / ICH_PAR;
  localparam integer LANE_GROUPS = (IW + IN_LANES - 1) / IN_LANES;
  localparam integer RAGGED = IW % IN_LANES;
  localparam integer ROW = LANE_GROUPS * GROUPS;  // tokens of a picture row
  localparam integer GROUP_STEP = OW_PAR * STRIDE_W;
  localparam integer STEP = GROUP_STEP / IN_LANES;  // lane groups between windows
  localparam integer COLUMN_GROUPS = (OW + OW_PAR - 1) / OW_PAR;
  // Lane groups that come after the one a window is counted from, rows likewise, both in steps.
  localparam integer LOOKAHEAD = (COLUMNS - 1 - PAD_LEFT) / IN_LANES;
  localparam integer LAG = (FH - 1 - PAD_TOP) * ROW + LOOKAHEAD * GROUPS;
  localparam integer LAST =
      ((OH - 1) * STRIDE_H * LANE_GROUPS + (COLUMN_GROUPS - 1) * STEP + 1) * GROUPS - 1;
  localparam FLUSH = FORWARD != 0 || LAST + LAG >= IH * ROW;

  function automatic integer lane_of(input integer j);
    lane_of = (j + PAD_LEFT * (IN_LANES - 1)) % IN_LANES;
  endfunction
  // Lane groups that have come since the one with window column j.
  function automatic integer age(input integer j);
    age = LOOKAHEAD - (j - PAD_LEFT - lane_of(j)) / IN_LANES;
  endfunction
  function automatic is_used(input integer j);
    is_used = j % STRIDE_W < FW || j >= (OW_PAR - 1) * STRIDE_W;
  endfunction
  // Age of the newest (`newest`) or oldest used column of a lane; -1: there is none.
  function automatic integer lane_age(input integer lane, input integer newest);
    integer j;
    begin
      lane_age = -1;
      for (j = 0; j < COLUMNS; j = j + 1)
        if (is_used(j) && lane_of(j) == lane)
          if (lane_age < 0 || (newest != 0 ? age(j) < lane_age : age(j) > lane_age))
            lane_age = age(j);
    end
  endfunction
  // Age at which all lanes are forwarded: that of the lane that is delayed most at the input.
  function automatic integer forward_age(input integer start);
    integer lane;
    begin
      forward_age = start;
      for (lane = 0; lane < IN_LANES; lane = lane + 1)
        if (lane_age(lane, 1) > forward_age) forward_age = lane_age(lane, 1);
    end
  endfunction
  localparam integer FORWARD_AGE = forward_age(0);
  localparam integer FORWARD_LAG = (FH - 1) * ROW + FORWARD_AGE * GROUPS;

  // ---- control -------------------------------------------------------------------------------
  logic [IN_LANES-1:0] exists, forward_exists;
  logic active, pushing, forwarding, frame_last;
  wire given = &(in_valid | ~exists);
  wire out_free = ~window_valid | window_ready;
  wire forward_free = ~forwarding | &(forward_ready | ~forward_exists);
  wire step = out_free & forward_free & (given | pushing);
  wire take = step & given;
  wire move = step & active;
  assign in_ready = take ? exists : '0;
  assign forward_valid = step & forwarding ? forward_exists : '0;

  // Position of the window that leaves: picture row, lane group, channel group.
  localparam integer Y_BITS = ring_bits(IH), K_BITS = ring_bits(LANE_GROUPS);
  localparam integer LAG_GROUPS = (IH * ROW - LAG) / GROUPS % (IH * LANE_GROUPS);
  logic [Y_BITS-1:0] y;
  logic [K_BITS-1:0] k;
  logic group_end, row_end;
  ring_count #(.COUNT(GROUPS)) groups (.clk, .rst, .step(move), .last(group_end));
  // verilator lint_off PINCONNECTEMPTY
  position_ring #(
      .COUNT(LANE_GROUPS), .BITS(K_BITS), .INIT(FLUSH ? 0 : LAG_GROUPS % LANE_GROUPS)
  ) lane_groups (.clk, .rst, .step(move & group_end), .state(k), .last(row_end));
  // Nobody asks for a picture's last row.
  position_ring #(
      .COUNT(IH), .BITS(Y_BITS), .INIT(FLUSH ? 0 : LAG_GROUPS / LANE_GROUPS)
  ) rows (.clk, .rst, .step(move & group_end & row_end), .state(y), .last());
  // verilator lint_on PINCONNECTEMPTY
  logic [IH-1:0] y_is;
  logic [LANE_GROUPS-1:0] k_is;

  genvar i, j, l, a;
  generate
    for (i = 0; i < IH; i = i + 1) begin : g_y
      assign y_is[i] = IH == 1 || y == Y_BITS'(ring_code(i, Y_BITS));
    end
    for (i = 0; i < LANE_GROUPS; i = i + 1) begin : g_k
      assign k_is[i] = LANE_GROUPS == 1 || k == K_BITS'(ring_code(i, K_BITS));
    end

    if (RAGGED != 0) begin : g_ragged
      logic in_group_end, in_row_end;
      ring_count #(.COUNT(GROUPS)) in_groups (.clk, .rst, .step(take), .last(in_group_end));
      ring_count #(.COUNT(LANE_GROUPS)) in_columns (
          .clk, .rst, .step(take & in_group_end), .last(in_row_end));
      for (l = 0; l < IN_LANES; l = l + 1) begin : g_exists
        assign exists[l] = !(l >= RAGGED && in_row_end);
      end
    end else begin : g_even
      assign exists = '1;
    end

    if (FLUSH) begin : g_flush
      logic tail;  // a whole number of frames has come in
      ring_count #(.COUNT(IH * ROW)) frame (.clk, .rst, .step(take), .last(frame_last));
      always_ff @(posedge clk)
        if (rst) tail <= 1'b1;
        else if (take) tail <= frame_last;
      wire first = take & tail;
      if (LAG == 0) begin : g_at_once
        assign active = given;
      end else begin : g_late
        frame_span #(.LAG(LAG), .LENGTH(IH * ROW)) span (.clk, .rst, .step, .first, .active);
      end
      assign pushing = tail & ((LAG != 0 & active) | forwarding);
      if (FORWARD != 0) begin : g_forward
        frame_span #(.LAG(FORWARD_LAG), .LENGTH(IH * ROW)) span (
            .clk, .rst, .step, .first, .active(forwarding));
      end else begin : g_no_forward
        assign forwarding = 1'b0;
      end
    end else begin : g_never_flush
      assign frame_last = 1'b0;
      assign active = 1'b1;
      assign pushing = 1'b0;
      assign forwarding = 1'b0;
    end
    if (FORWARD != 0 && RAGGED != 0) begin : g_forward_ragged
      logic forward_group_end, forward_row_end;
      ring_count #(.COUNT(GROUPS)) forward_groups (
          .clk, .rst, .step(step & forwarding), .last(forward_group_end));
      ring_count #(.COUNT(LANE_GROUPS)) forward_columns (
          .clk, .rst, .step(step & forwarding & forward_group_end), .last(forward_row_end));
      for (l = 0; l < IN_LANES; l = l + 1) begin : g_exists
        assign forward_exists[l] = !(l >= RAGGED && forward_row_end);
      end
    end else begin : g_forward_even
      assign forward_exists = '1;
    end
  endgenerate

  // Positions with a window.
  logic row_on, column_on;
  logic [IH-1:0] row_starts;
  logic [LANE_GROUPS-1:0] column_starts;
  generate
    for (i = 0; i < IH; i = i + 1) begin : g_row_start
      assign row_starts[i] = i % STRIDE_H == 0 && i / STRIDE_H < OH ? y_is[i] : 1'b0;
    end
    for (i = 0; i < LANE_GROUPS; i = i + 1) begin : g_column_start
      assign column_starts[i] = i % STEP == 0 && i / STEP < COLUMN_GROUPS ? k_is[i] : 1'b0;
    end
    assign row_on = (STRIDE_H == 1 && OH == IH) || |row_starts;
    assign column_on = (STEP == 1 && COLUMN_GROUPS == LANE_GROUPS) || |column_starts;
  endgenerate
  always_ff @(posedge clk)
    if (rst) window_valid <= 1'b0;
    else if (out_free) window_valid <= move & row_on & column_on;

  // ---- data ----------------------------------------------------------------------------------
  localparam integer ROW_STYLE = ROW <= 2 ? 0 : BLOCK != 0 && ROW > 16 ? 2 : 1;
  localparam integer ROW_STAGES = (ROW + 31) / 32;
  localparam integer ROW_WORDS = ROW_STYLE == 2 ? ROW - 1 : ROW / ROW_STAGES;
  // A LUTRAM holds two bits of 32 words in a LUT, a shift register two of 16 or one of 32.
  localparam integer GROUP_STYLE = GROUPS > 16 ? 1 : 0;
  localparam integer GROUP_STAGES = (GROUPS + 31) / 32;
  localparam integer GROUP_WORDS = GROUPS / GROUP_STAGES;
  localparam integer ROW_SLOT_BITS = ring_bits(ROW_WORDS), GROUP_SLOT_BITS = ring_bits(GROUP_WORDS);
  logic [ROW_SLOT_BITS-1:0] row_slot;
  logic [GROUP_SLOT_BITS-1:0] group_slot;
  generate
    // verilator lint_off PINCONNECTEMPTY
    // The slots go round; where is of no interest.
    if (FH > 1 && ROW_STYLE > 0) begin : g_row_slot
      position_ring #(.COUNT(ROW_WORDS), .BITS(ROW_SLOT_BITS)) slots (
          .clk, .rst, .step, .state(row_slot), .last());
    end else begin : g_no_row_slot
      assign row_slot = '0;
    end
    if (GROUP_STYLE == 1) begin : g_group_slot
      position_ring #(.COUNT(GROUP_WORDS), .BITS(GROUP_SLOT_BITS)) slots (
          .clk, .rst, .step, .state(group_slot), .last());
    end else begin : g_no_group_slot
      assign group_slot = '0;
    end
    // verilator lint_on PINCONNECTEMPTY
  endgenerate

  // Lane groups of every lane and window row, by age; `newest` of them are the rows' inputs.
  localparam integer AGES = LOOKAHEAD + PAD_LEFT + FORWARD_AGE + 2;
  localparam integer GROUP_WIDTH = IN_LANES * WIDTH;
  logic [FH*GROUP_WIDTH-1:0] newest;
  /* verilator lint_off UNUSEDSIGNAL */
  /* verilator lint_off UNDRIVEN */
  // Which ages exist depends on the lane.
  logic [FH*IN_LANES*AGES*WIDTH-1:0] past;
  /* verilator lint_on UNDRIVEN */
  /* verilator lint_on UNUSEDSIGNAL */
  generate
    for (l = 0; l < IN_LANES; l = l + 1) begin : g_skew
      localparam integer NEWEST = lane_age(l, 1);
      if (NEWEST >= 0) begin : g_used
        logic [(NEWEST+1)*WIDTH-1:0] late;
        assign late[WIDTH-1:0] = in_data[l];
        for (a = 0; a < NEWEST; a = a + 1) begin : g_age
          step_delay #(
              .WIDTH(WIDTH), .STEPS(GROUPS), .STYLE(GROUP_STYLE), .STAGES(GROUP_STAGES),
              .WORDS(GROUP_WORDS), .SLOT_BITS(GROUP_SLOT_BITS)
          ) line (.clk, .step, .slot(group_slot), .in(late[a*WIDTH+:WIDTH]),
                  .out(late[(a+1)*WIDTH+:WIDTH]));
        end
        assign newest[(FH-1)*GROUP_WIDTH+l*WIDTH+:WIDTH] = late[NEWEST*WIDTH+:WIDTH];
      end else begin : g_unread
        assign newest[(FH-1)*GROUP_WIDTH+l*WIDTH+:WIDTH] = FORWARD != 0 ? in_data[l] : '0;
      end
    end
    if (FH > 1) begin : g_rows
      step_delay #(
          .WIDTH((FH - 1) * GROUP_WIDTH), .STEPS(ROW), .STYLE(ROW_STYLE), .STAGES(ROW_STAGES),
          .WORDS(ROW_WORDS), .SLOT_BITS(ROW_SLOT_BITS)
      ) line (.clk, .step, .slot(row_slot), .in(newest[FH*GROUP_WIDTH-1:GROUP_WIDTH]),
              .out(newest[(FH-1)*GROUP_WIDTH-1:0]));
    end

    for (i = 0; i < FH; i = i + 1) begin : g_row
      logic [IH-1:0] outside;
      for (a = 0; a < IH; a = a + 1) begin : g_outside
        assign outside[a] = a + i < PAD_TOP || a + i - PAD_TOP >= IH ? y_is[a] : 1'b0;
      end
      wire row_outside = |outside;
      for (l = 0; l < IN_LANES; l = l + 1) begin : g_lane
        localparam integer NEWEST = lane_age(l, 1) < 0 ? 0 : lane_age(l, 1);
        localparam integer NEEDED = lane_age(l, 0) < 0 ? 0 : lane_age(l, 0);
        localparam integer OLDEST =
            FORWARD != 0 && i == 0 && FORWARD_AGE > NEEDED ? FORWARD_AGE : NEEDED;
        localparam integer AT = (i * IN_LANES + l) * AGES;
        assign past[(AT+NEWEST)*WIDTH+:WIDTH] = newest[i*GROUP_WIDTH+l*WIDTH+:WIDTH];
        for (a = NEWEST; a < OLDEST; a = a + 1) begin : g_age
          step_delay #(
              .WIDTH(WIDTH), .STEPS(GROUPS), .STYLE(GROUP_STYLE), .STAGES(GROUP_STAGES),
              .WORDS(GROUP_WORDS), .SLOT_BITS(GROUP_SLOT_BITS)
          ) line (.clk, .step, .slot(group_slot), .in(past[(AT+a)*WIDTH+:WIDTH]),
                  .out(past[(AT+a+1)*WIDTH+:WIDTH]));
        end
      end
      for (j = 0; j < COLUMNS; j = j + 1) begin : g_column
        localparam integer AT = (i * IN_LANES + lane_of(j)) * AGES + age(j);
        localparam integer TO = (i * COLUMNS + j) * WIDTH;
        if (is_used(j)) begin : g_used
          logic [LANE_GROUPS-1:0] outside_columns;
          for (a = 0; a < LANE_GROUPS; a = a + 1) begin : g_outside
            localparam integer COLUMN = a / STEP * GROUP_STEP + j - PAD_LEFT;
            assign outside_columns[a] = a % STEP == 0 && (COLUMN < 0 || COLUMN >= IW) ? k_is[a] : 1'b0;
          end
          wire column_outside = |outside_columns;
          always_ff @(posedge clk)
            if (out_free) begin
              if (row_outside | column_outside) window_data[TO+:WIDTH] <= {ICH_PAR{BITS'(PAD_VALUE)}};
              else window_data[TO+:WIDTH] <= past[AT*WIDTH+:WIDTH];
            end
        end else begin : g_unread
          assign window_data[TO+:WIDTH] = {ICH_PAR{BITS'(PAD_VALUE)}};
        end
      end
    end
    for (l = 0; l < IN_LANES; l = l + 1) begin : g_forward
      assign forward_data[l] = FORWARD != 0 ? past[(l*AGES+FORWARD_AGE)*WIDTH+:WIDTH] : '0;
    end
  endgenerate
  wire unused = &{1'b0, frame_last, forward_ready, row_slot, group_slot};
endmodule
