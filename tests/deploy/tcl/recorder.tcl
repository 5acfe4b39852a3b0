# Argument checking shared by the recorders: the vendor's commands as procs that know their options.

namespace eval recorder {
  variable facts {}
}

proc recorder::fact {args} {
  variable facts
  lappend facts $args
}

# Splits the arguments of `command`: `flags` stand alone, `options` take a value; between `least`
# and `most` arguments have no dash. Returns {dict positionals}.
proc recorder::arguments {command arguments flags options least most} {
  set given [dict create]
  set rest {}
  for {set i 0} {$i < [llength $arguments]} {incr i} {
    set word [lindex $arguments $i]
    if {[string match {-[a-z]*} $word]} {
      if {$word in $flags} {
        dict set given $word 1
      } elseif {$word in $options} {
        incr i
        if {$i >= [llength $arguments]} { error "$command: option $word lacks its value" }
        dict set given $word [lindex $arguments $i]
      } else {
        error "$command: unknown option $word"
      }
    } else {
      lappend rest $word
    }
  }
  if {[llength $rest] < $least || [llength $rest] > $most} {
    error "$command: takes $least to $most arguments, got [llength $rest]: $rest"
  }
  return [list $given $rest]
}

proc recorder::require {command given args} {
  foreach option $args {
    if {![dict exists $given $option]} { error "$command: option $option is missing" }
  }
}

proc recorder::existing_file {command path} {
  if {![file exists $path]} { error "$command: file '$path' does not exist" }
}

proc recorder::write_facts {path} {
  variable facts
  set channel [open $path w]
  foreach fact $facts { puts $channel [join $fact "\t"] }
  close $channel
}
