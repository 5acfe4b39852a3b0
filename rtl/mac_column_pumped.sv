// `mac_column` at twice the clock: 2 * SLICES taps on SLICES DSP48E2, all of them in every `clk`:
//
//   p = start + sum over t of (hi[t] * 2^FIELD + lo[t]) * narrow[t]
//
// `clk2x` has an edge with every edge of `clk` and one between (both from one clock generator). In
// the first slot of a clock slice k multiplies tap 2k, in the second tap 2k + 1: the activations
// wait in its B and D registers and INMODE takes one, the weights change with every slot, and the
// last slice adds what it had in the slot before. The slots are told by a register that toggles
// with `clk`, which needs no reset and no clock crossing but related edges.
//
// Slice k works k + OFFSET slots late (OFFSET is 0 or 1, so that p is complete in the second slot of
// a clock). Counted in clocks from tap 0's: its `narrow`, with `load`, comes (k + OFFSET) / 2 later;
// `load` itself is tap 0's. `wide[k]` = hi * 2^FIELD + lo changes with every slot: tap 2k + 1 where
// `second[k]` is high, else tap 2k; weight memories take `second[k]` as an address bit. `start`
// comes 1 and `start_mod` OFFSET clocks later, `p` and `mod` (as in `mac_column`) are there
// (SLICES + OFFSET + 5) / 2 clocks later, in registers of `clk`.
module mac_column_pumped #(
    parameter int SLICES = 9,
    parameter int FIELD = 18,
    parameter int NARROW_BITS = 9,
    parameter int MOD_BITS = 0,
    localparam int MOD_WIDTH = MOD_BITS > 0 ? MOD_BITS : 1,
    localparam int OFFSET = (SLICES + 1) % 2
) (
    input wire clk,
    input wire clk2x,
    input wire load,
    input wire [2*SLICES*NARROW_BITS-1:0] narrow,
    input wire [27*SLICES-1:0] wide,
    input wire [47:0] start,
    input wire [MOD_WIDTH-1:0] start_mod,
    output wire [SLICES-1:0] second,
    output logic [47:0] p,
    output wire [MOD_WIDTH-1:0] mod
);
  // `slot` is 1 in the second slot of a clock.
  logic toggle, toggle_late, slot;
  initial toggle = 1'b0;
  always_ff @(posedge clk) toggle <= ~toggle;
  always_ff @(posedge clk2x) begin
    toggle_late <= toggle;
    slot <= toggle ^ toggle_late;
  end

  // Both travel along the slices, a slot for each.
  localparam int STEPS = SLICES + OFFSET + 2;
  (* shreg_extract = "no" *) logic [STEPS-1:1] slot_late, load_late;
  always_ff @(posedge clk2x) begin
    slot_late <= {slot_late[STEPS-2:1], slot};
    load_late <= {load_late[STEPS-2:1], load & ~slot};
  end
  wire [STEPS-1:0] slots = {slot_late, slot};
  wire [STEPS-1:0] loads = {load_late, load & ~slot};
  assign second = slots[OFFSET+:SLICES];

  wire [48*(SLICES+1)-1:0] cascade;
  wire [48*SLICES-1:0] sums;
  assign cascade[47:0] = '0;
  genvar k;
  generate
    for (k = 0; k < SLICES; k = k + 1) begin : g_slice
      localparam int STEP = k + OFFSET;
      wire [NARROW_BITS-1:0] even = narrow[2*k*NARROW_BITS+:NARROW_BITS];
      wire [NARROW_BITS-1:0] odd = narrow[(2*k+1)*NARROW_BITS+:NARROW_BITS];
      // Where a slice has the operands of two slots ago in its multiplier, OPMODE is for those.
      wire own = k == SLICES - 1 && slots[STEP+2];
      wire first = k == 0 && ~slots[STEP+2];
      dsp48e2 #(
          .SELECT_B(1'b1)
      ) slice (
          .clk(clk2x),
          .rst(1'b0),
          .a(wide[27*k+:27]),
          .b({{(18 - NARROW_BITS) {even[NARROW_BITS-1]}}, even}),
          .c(k == 0 ? start : 48'd0),
          .d({{(27 - NARROW_BITS) {odd[NARROW_BITS-1]}}, odd}),
          .ce_a(1'b1),
          .ce_b(loads[STEP]),
          .ce_d(loads[STEP]),
          .inmode({2'b00, slots[STEP], slots[STEP], 1'b0}),
          .opmode({1'b0, own, k == 0 ? {1'b0, first, first} : 3'b001, 4'b0101}),
          .pcin(cascade[48*k+:48]),
          .pcout(cascade[48*(k+1)+:48]),
          .p(sums[48*k+:48])
      );
    end
    if (MOD_BITS > 0) begin : g_mod
      logic [MOD_BITS-1:0] even[0:SLICES-1], odd[0:SLICES-1], w[0:SLICES-1], sum[0:SLICES-1];
      logic [MOD_BITS-1:0] before_last, both, both_late, slow;
      for (k = 0; k < SLICES; k = k + 1) begin : g_slice
        localparam int STEP = k + OFFSET;
        // The upper field of a packed weight has lent to a negative lower one.
        wire [MOD_BITS-1:0] high = wide[27*k+FIELD+:MOD_BITS] + MOD_BITS'(wide[27*k+FIELD-1]);
        wire [MOD_BITS-1:0] x = slots[STEP+1] ? odd[k] : even[k];
        wire [MOD_BITS-1:0] previous;
        if (k == 0) begin : g_first
          assign previous = slots[STEP+1] ? '0 : start_mod;
        end else begin : g_later
          assign previous = sum[k-1];
        end
        always_ff @(posedge clk2x) begin
          if (loads[STEP]) even[k] <= narrow[2*k*NARROW_BITS+:MOD_BITS];
          if (loads[STEP]) odd[k] <= narrow[(2*k+1)*NARROW_BITS+:MOD_BITS];
          w[k] <= high;
          sum[k] <= previous + w[k] * x;
        end
      end
      always_ff @(posedge clk2x) begin
        before_last <= sum[SLICES-1];
        both <= before_last + sum[SLICES-1];
        both_late <= both;
      end
      always_ff @(posedge clk) slow <= both_late;
      assign mod = slow;
    end else begin : g_no_mod
      assign mod = '0;
      wire unused = &{1'b0, start_mod};
    end
  endgenerate
  always_ff @(posedge clk) p <= sums[48*(SLICES-1)+:48];
  wire unused = &{1'b0, cascade[48*SLICES+:48], sums, loads};
endmodule
