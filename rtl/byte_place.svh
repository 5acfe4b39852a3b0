// Where the bytes of a token lie in 16-byte beats. Tokens have TOKEN bytes, the last one of a pixel
// TAIL; `offset` is the first byte's place in its beat.

/* verilator lint_off UNUSEDSIGNAL */
// A module that includes this file need not use all of it.
function automatic integer common_divisor(input integer a, input integer b);
  integer x, y, rest;
  begin
    x = a;
    y = b;
    while (y != 0) begin
      rest = x % y;
      x = y;
      y = rest;
    end
    common_divisor = x;
  end
endfunction
/* verilator lint_on UNUSEDSIGNAL */
