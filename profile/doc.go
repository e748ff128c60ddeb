// Package profile knows families of network devices, and of shells, by name: what their prompts, pagers and error
// messages look like, and which commands turn their pager off.
//
//	p, ok := profile.Get("cisco_ios")
//	ready := p.Prompt.Regex.MatchString("r1(config)#") // true
//
// A profile only describes. It never makes anybody type anything, and nothing logs in by itself.
//
// # The files
//
// Each family is one TOML file in the folder families, named as the profile is. A file says what it is about, the
// class of the command line, and the patterns, each with sample lines beside it that it must match and that it must
// reject:
//
//	about = "Cisco IOS, IOS XE"
//	class = "device"                 # or posix
//	note = "..."                     # what else to know before typing; may be left out
//	enter = "auto"                   # over Telnet: auto, cr, crlf or lf
//	paging_off = ["terminal length 0", "terminal width 512"]
//	enable = "enable"                # these three as well
//	config_enter = "configure terminal"
//	config_leave = "end"
//
//	[prompt]                         # ready for the next command
//	regex = '^[\w.\-]{1,63}(?:\([^()\r\n]{1,40}\))?[>#] ?$'
//	matches = ["r1>", "r1(config)#"]
//	rejects = ["r1#show version", "Password: "]
//
//	[config_prompt]                  # the same, in configuration mode alone
//	[[pagers]]                       # any number: a pager waits for a key
//	[[errors]]                       # any number: the command was refused
//
// TOML, because a pattern between single quotes stands there as it is: no backslash is doubled, and a comment can say
// why it is so. Patterns are RE2. Prompts and pagers are matched on the last line as a person sees it, with
// backspaces, carriage returns and escape sequences applied; patterns for errors on the output, whose lines end with
// LF, and so they begin with (?m)^.
//
// To add a family, add a file. The tests check every file: each pattern must have samples of both kinds, and they must
// be true.
//
// Where the patterns come from: those of FRRouting were tried on a running one (bgpd 8.4), and the pagers of posix are
// those of more and less. The others follow what other programs and the vendors' documentation say of the devices, and
// were never tried on a real one.
package profile
