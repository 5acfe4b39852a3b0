// `in` STEPS steps later. STYLE 0: shift register. 1: STAGES circular LUTRAMs of WORDS words (at most
// 32) at `slot`, and a shift register for the rest. 2: block RAM of WORDS = STEPS - 1 words at `slot`.
// `slot` runs through WORDS values, a step each.
module step_delay #(
    parameter integer WIDTH = 8,
    parameter integer STEPS = 1,
    parameter integer STYLE = 0,
    parameter integer STAGES = 1,
    parameter integer WORDS = 1,
    parameter integer SLOT_BITS = 5
) (
    input  logic                 clk,
    input  logic                 step,
    input  logic [SLOT_BITS-1:0] slot,
    input  logic [    WIDTH-1:0] in,
    output logic [    WIDTH-1:0] out
);
  genvar i;
  generate
    if (STYLE == 0) begin : g_shift
      step_shift #(.WIDTH(WIDTH), .STEPS(STEPS)) line (.clk, .step, .in, .out);
      wire unused = &{1'b0, slot};
    end else if (STYLE == 1) begin : g_lutram
      logic [(STAGES+1)*WIDTH-1:0] stage;
      assign stage[WIDTH-1:0] = in;
      for (i = 0; i < STAGES; i = i + 1) begin : g_stage
        ram32 #(.WIDTH(WIDTH)) ram (
            .clk, .write(step), .address(5'(slot)),
            .in(stage[i*WIDTH+:WIDTH]), .out(stage[(i+1)*WIDTH+:WIDTH]));
      end
      step_shift #(.WIDTH(WIDTH), .STEPS(STEPS - STAGES * WORDS)) rest (
          .clk, .step, .in(stage[STAGES*WIDTH+:WIDTH]), .out);
    end else begin : g_bram
      (* ram_style = "block" *) logic [WIDTH-1:0] words[1<<SLOT_BITS];
      always_ff @(posedge clk)
        if (step) begin
          out <= words[slot];
          words[slot] <= in;
        end
    end
  endgenerate
endmodule
