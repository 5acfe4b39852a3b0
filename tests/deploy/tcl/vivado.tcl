# The commands of Vivado that the generated script uses: tclsh vivado.tcl SCRIPT FACTS
# Records cells, nets and addresses; validate_bd_design checks them. Options as in UG835.

set recorder_folder [file dirname [file normalize [info script]]]
source [file join $recorder_folder recorder.tcl]
source [file join $recorder_folder catalog.tcl]

namespace eval vivado {
  variable project ""       ;# {name folder}
  variable cells [dict create]       ;# name -> {vlnv config}
  variable modules [dict create]     ;# cell -> description of an RTL module
  variable nets {}          ;# lists of pins
  variable links {}         ;# pairs of interface pins
  variable addresses {}     ;# {space segment offset range}
  variable sources {}
  variable validated 0
  variable implemented 0
}

# Objects are strings: "cell:ps", "pin:ps/pl_clk0", "intf:...", "space:...", "segment:...".

proc vivado::object {kind text} {
  if {![string match "$kind:*" $text]} { error "'$text' is no $kind" }
  return [string range $text [string length "$kind:"] end]
}

proc vivado::describe {cell} {
  variable cells
  variable modules
  if {![dict exists $cells $cell]} { error "there is no cell '$cell'" }
  if {[dict exists $modules $cell]} { return [dict get $modules $cell] }
  lassign [dict get $cells $cell] vlnv config
  return [catalog::[lindex [split $vlnv :] 2] $config]
}

proc vivado::lookup {command kind section arguments} {
  lassign [recorder::arguments $command $arguments {-quiet} {} 1 1] given rest
  set name [lindex $rest 0]
  set cell [lindex [split $name /] 0]
  set item [join [lrange [split $name /] 1 end] /]
  if {[catch {describe $cell} description]} {
    if {[dict exists $given -quiet]} { return {} }
    error "$command: $description"
  }
  set known [dict get $description $section]
  if {$section ne "spaces"} { set known [dict keys $known] }
  if {$item ni $known} {
    if {[dict exists $given -quiet]} { return {} }
    error "$command: cell '$cell' has no $kind '$item' (it has: $known)"
  }
  return "$kind:$name"
}

proc get_bd_pins {args} { vivado::lookup get_bd_pins pin pins $args }
proc get_bd_intf_pins {args} { vivado::lookup get_bd_intf_pins intf interfaces $args }
proc get_bd_addr_spaces {args} { vivado::lookup get_bd_addr_spaces space spaces $args }
proc get_bd_addr_segs {args} { vivado::lookup get_bd_addr_segs segment segments $args }
proc get_bd_cells {args} {
  lassign [recorder::arguments get_bd_cells $args {-quiet} {} 1 1] given rest
  vivado::describe [lindex $rest 0]
  return "cell:[lindex $rest 0]"
}

proc create_project {args} {
  lassign [recorder::arguments create_project $args {-force} {-part} 2 2] given rest
  recorder::require create_project $given -part
  set vivado::project $rest
  file mkdir [lindex $rest 1]
  recorder::fact part [dict get $given -part]
}
proc current_project {args} {
  recorder::arguments current_project $args {} {} 0 0
  if {$vivado::project eq ""} { error "current_project: no project is open" }
  return "project:[lindex $vivado::project 0]"
}
proc current_fileset {args} {
  recorder::arguments current_fileset $args {} {} 0 0
  return "fileset:sources_1"
}
proc get_board_parts {args} {
  lassign [recorder::arguments get_board_parts $args {-quiet -latest_file_version} {} 1 1] given rest
  set found {}
  foreach part $::env(RECORDER_BOARD_PARTS) {
    if {[string match [lindex $rest 0] $part]} { lappend found $part }
  }
  return $found
}
proc update_ip_catalog {args} { recorder::arguments update_ip_catalog $args {-rebuild} {} 0 0 }
proc update_compile_order {args} {
  lassign [recorder::arguments update_compile_order $args {} {-fileset} 0 0] given
  recorder::require update_compile_order $given -fileset
}
proc add_files {args} {
  lassign [recorder::arguments add_files $args {-norecurse} {-fileset} 1 1] given rest
  recorder::existing_file add_files [lindex $rest 0]
  lappend vivado::sources [lindex $rest 0]
}

proc create_bd_design {args} {
  recorder::fact design [lindex [recorder::arguments create_bd_design $args {} {} 1 1] 1]
}

proc create_bd_cell {args} {
  lassign [recorder::arguments create_bd_cell $args {} {-type -vlnv -reference} 1 1] given rest
  recorder::require create_bd_cell $given -type
  set name [lindex $rest 0]
  if {[dict exists $vivado::cells $name]} { error "create_bd_cell: '$name' exists already" }
  switch -- [dict get $given -type] {
    ip {
      recorder::require create_bd_cell $given -vlnv
      set vlnv [dict get $given -vlnv]
      if {$vlnv eq $::env(RECORDER_CORE)} { set vlnv x:x:core }
      set key [expr {$vlnv eq "x:x:core" ? "core" : $vlnv}]
      if {![dict exists $catalog::properties $key]} { error "create_bd_cell: IP '$vlnv' is unknown" }
      set config {}
      dict for {property rule} [dict get $catalog::properties $key] {
        dict set config $property [lindex $rule 0]
      }
      dict set vivado::cells $name [list $vlnv $config]
    }
    module {
      recorder::require create_bd_cell $given -reference
      set reference [dict get $given -reference]
      set file [lsearch -inline $vivado::sources "*/$reference.v"]
      if {$file eq ""} { error "create_bd_cell: module '$reference' is in no source file" }
      dict set vivado::modules $name [catalog::module $file $reference]
      dict set vivado::cells $name [list module:$reference {}]
    }
    default { error "create_bd_cell: -type [dict get $given -type]" }
  }
  recorder::fact cell $name [lindex [dict get $vivado::cells $name] 0]
  return "cell:$name"
}

proc set_property {args} {
  if {[lindex $args 0] eq "-dict"} {
    if {[llength $args] != 3} { error "set_property: -dict takes a list and an object" }
    lassign $args - values object
    if {[llength $values] % 2} { error "set_property: a property lacks its value: $values" }
  } else {
    if {[llength $args] != 3} { error "set_property: takes name, value, object; got $args" }
    set values [lrange $args 0 1]
    set object [lindex $args 2]
  }
  foreach {name value} $values { vivado::set_one $name [string trim $value] $object }
}

proc vivado::set_one {name value object} {
  variable cells
  lassign [split $object :] kind id
  if {$kind eq "project"} {
    if {$name ni {board_part board_connections ip_repo_paths target_language}} {
      error "set_property: a project has no property '$name'"
    }
  } elseif {$kind eq "fileset"} {
    if {$name ni {top}} { error "set_property: a file set has no property '$name'" }
  } elseif {$kind eq "core"} {
    if {$name ni {name version display_name}} { error "set_property: a core has no property '$name'" }
    dict set ipx::names $name $value
  } elseif {$kind eq "cell"} {
    set property [string range $name 7 end]
    lassign [dict get $cells $id] vlnv config
    if {![string match CONFIG.* $name] || ![dict exists $config $property]} {
      error "set_property: IP '$vlnv' has no property '$name'"
    }
    set pattern [lindex [dict get $catalog::properties $vlnv $property] 1]
    if {![regexp $pattern $value]} { error "set_property: $name = '$value' of '$id' is illegal" }
    dict set config $property $value
    dict set cells $id [list $vlnv $config]
  } else {
    error "set_property: '$object' has no properties"
  }
  recorder::fact property $object $name $value
}

proc get_property {args} {
  lassign [recorder::arguments get_property $args {} {} 2 2] - rest
  lassign $rest name object
  switch -glob -- "$name $object" {
    "PROGRESS run:*" { return [expr {$vivado::implemented ? "100%" : "0%"}] }
    "STATUS run:*" { return "write_bitstream Complete!" }
    "SLACK path:*" { return $::env(RECORDER_SLACK) }
    "CONFIG.FREQ_HZ pin:*" { return 1 }
    default { error "get_property: '$object' has no property '$name'" }
  }
}

proc apply_bd_automation {args} {
  lassign [recorder::arguments apply_bd_automation $args {} {-rule -config} 1 1] given rest
  recorder::require apply_bd_automation $given -rule -config
  set cell [vivado::object cell [lindex $rest 0]]
  set ip [lindex [split [dict get $given -rule] :] 2]
  if {$ip ne [lindex [split [lindex [dict get $vivado::cells $cell] 0] :] 2]} {
    error "apply_bd_automation: rule [dict get $given -rule] is not for cell '$cell'"
  }
  if {[dict get $given -config] ne {apply_board_preset "1"}} { error "apply_bd_automation: -config" }
}

proc connect_bd_net {args} {
  lassign [recorder::arguments connect_bd_net $args {} {-net} 2 1000] - rest
  set net {}
  foreach pin $rest { lappend net [vivado::object pin $pin] }
  lappend vivado::nets $net
}
proc connect_bd_intf_net {args} {
  lassign [recorder::arguments connect_bd_intf_net $args {} {-intf_net} 2 2] - rest
  set link {}
  foreach pin $rest { lappend link [vivado::object intf $pin] }
  lappend vivado::links $link
}

proc assign_bd_address {args} {
  set options {-offset -range -target_address_space}
  lassign [recorder::arguments assign_bd_address $args {-force} $options 1 1] given rest
  recorder::require assign_bd_address $given -offset -range -target_address_space
  set space [vivado::object space [dict get $given -target_address_space]]
  set segment [vivado::object segment [lindex $rest 0]]
  set offset [expr {[dict get $given -offset]}]
  set range [expr {[dict get $given -range]}]
  if {$range & ($range - 1)} { error "assign_bd_address: range $range is no power of two" }
  if {$offset % $range} { error "assign_bd_address: offset [dict get $given -offset] is not aligned to its range" }
  lappend vivado::addresses [list $space $segment $offset $range]
  recorder::fact address $space $segment [format 0x%X $offset] [format 0x%X $range]
}

source [file join $recorder_folder design_rules.tcl]

proc validate_bd_design {args} {
  recorder::arguments validate_bd_design $args {} {} 0 0
  set faults [rules::faults]
  if {[llength $faults]} { error "validate_bd_design: [join $faults "; "]" }
  foreach link $vivado::links { recorder::fact link {*}$link }
  foreach net $vivado::nets { recorder::fact net {*}$net }
  set vivado::validated 1
}
proc save_bd_design {args} {
  recorder::arguments save_bd_design $args {} {} 0 0
  if {!$vivado::validated} { error "save_bd_design: the design is not validated" }
}
proc get_files {args} { return "file:[lindex [recorder::arguments get_files $args {-quiet} {} 1 1] 1]" }
proc make_wrapper {args} {
  lassign [recorder::arguments make_wrapper $args {-top -import} {-files} 0 0] given
  vivado::object file [dict get $given -files]
}
proc generate_target {args} {
  vivado::object file [lindex [lindex [recorder::arguments generate_target $args {} {} 2 2] 1] 1]
}

proc get_runs {args} { return "run:[lindex [recorder::arguments get_runs $args {} {} 1 1] 1]" }
proc launch_runs {args} {
  lassign [recorder::arguments launch_runs $args {} {-to_step -jobs} 1 1] given rest
  if {[dict get $given -to_step] ne "write_bitstream"} { error "launch_runs: -to_step" }
  if {![string is integer -strict [dict get $given -jobs]]} { error "launch_runs: -jobs" }
  lassign $vivado::project name folder
  foreach file [list $name.gen/sources_1/bd/system/hw_handoff/system.hwh $name.runs/impl_1/system_wrapper.bit] {
    file mkdir [file dirname $folder/$file]
    close [open $folder/$file w]
  }
}
proc wait_on_runs {args} {
  recorder::arguments wait_on_runs $args {} {-timeout} 1 1
  set vivado::implemented $vivado::validated
}
proc open_run {args} { recorder::arguments open_run $args {} {-name} 1 1 }
proc report_utilization {args} {
  recorder::fact report [dict get [lindex [recorder::arguments report_utilization $args {-hierarchical} {-file} 0 0] 0] -file]
}
proc report_timing_summary {args} {
  recorder::fact report [dict get [lindex [recorder::arguments report_timing_summary $args {} {-file} 0 0] 0] -file]
}
proc get_timing_paths {args} {
  recorder::arguments get_timing_paths $args {} {-delay_type -max_paths} 0 0
  return "path:worst"
}

source [file join $recorder_folder package.tcl]

lassign $argv recorded_script facts_file
set argv {2}
set argc 1
source $recorded_script
recorder::write_facts $facts_file
