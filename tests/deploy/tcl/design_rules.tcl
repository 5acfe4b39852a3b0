# What must hold of a block design before it is worth implementing.

namespace eval rules {}

proc rules::faults {} {
  return [concat [interfaces] [pins] [clocks] [address_map]]
}

# Every pin of `section` of every cell: list of {cell/pin properties}.
proc rules::all {section} {
  set found {}
  dict for {cell -} $vivado::cells {
    dict for {name properties} [dict get [vivado::describe $cell] $section] {
      lappend found "$cell/$name" $properties
    }
  }
  return $found
}

# Every interface is on one link, a link joins a master and a slave of one kind and width.
proc rules::interfaces {} {
  set known [all interfaces]
  set uses [dict create]
  set faults {}
  foreach link $vivado::links {
    foreach end $link { dict incr uses $end }
    lassign [dict get $known [lindex $link 0]] kind_a mode_a width_a
    lassign [dict get $known [lindex $link 1]] kind_b mode_b width_b
    if {$kind_a ne $kind_b} { lappend faults "[join $link { and }] are of different kinds" }
    if {$mode_a eq $mode_b} { lappend faults "[join $link { and }] are both $mode_a" }
    if {$kind_a eq "axis" && $width_a != $width_b} {
      lappend faults "[join $link { and }] are $width_a and $width_b bits wide"
    }
  }
  dict for {end properties} $known {
    set count [expr {[dict exists $uses $end] ? [dict get $uses $end] : 0}]
    if {$count != 1} { lappend faults "interface $end is connected $count times" }
  }
  return $faults
}

# Every input pin is driven by one output of its kind.
proc rules::pins {} {
  set known [all pins]
  set driver [dict create]
  set faults {}
  foreach net $vivado::nets {
    set outputs {}
    set inputs {}
    foreach pin $net {
      if {[lindex [dict get $known $pin] 1] eq "out"} { lappend outputs $pin } else { lappend inputs $pin }
    }
    if {[llength $outputs] != 1} {
      lappend faults "net of [lindex $net 0] has [llength $outputs] drivers"
      continue
    }
    foreach pin $inputs {
      if {[dict exists $driver $pin]} { lappend faults "pin $pin is driven twice" }
      dict set driver $pin $outputs
      if {[lindex [dict get $known $outputs] 0] ne [lindex [dict get $known $pin] 0]} {
        lappend faults "$outputs drives $pin, which is a [lindex [dict get $known $pin] 0] pin"
      }
    }
  }
  dict for {pin properties} $known {
    if {[lindex $properties 1] eq "in" && ![dict exists $driver $pin]} {
      lappend faults "[lindex $properties 0] pin $pin is not driven"
    }
  }
  return $faults
}

# Both ends of a link have one clock.
proc rules::clocks {} {
  set known [all interfaces]
  set faults {}
  foreach link $vivado::links {
    set sources {}
    foreach end $link {
      set clock [lindex [split $end /] 0]/[lindex [dict get $known $end] 3]
      foreach net $vivado::nets { if {$clock in $net} { lappend sources $net } }
    }
    if {[llength [lsort -unique $sources]] > 1} { lappend faults "[join $link { and }] have two clocks" }
  }
  return $faults
}

# No overlap in a space; every register block has an address; every DMA reaches memory.
proc rules::address_map {} {
  set faults {}
  foreach one $vivado::addresses {
    lassign $one space segment offset range
    foreach other $vivado::addresses {
      lassign $other other_space other_segment other_offset other_range
      if {$space ne $other_space || $segment >= $other_segment} continue
      if {$offset < $other_offset + $other_range && $other_offset < $offset + $range} {
        lappend faults "$segment and $other_segment overlap in $space"
      }
    }
  }
  dict for {cell -} $vivado::cells {
    set description [vivado::describe $cell]
    dict for {segment -} [dict get $description segments] {
      if {[lsearch -index 1 $vivado::addresses $cell/$segment] < 0} {
        lappend faults "segment $cell/$segment has no address"
      }
    }
    foreach space [dict get $description spaces] {
      if {[lsearch -index 0 $vivado::addresses $cell/$space] < 0} {
        lappend faults "address space $cell/$space is empty"
      }
    }
  }
  return $faults
}
