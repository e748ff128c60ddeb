// Package profile describes families of network devices, and of shells, by name: the
// forms of their prompts, pagers and error messages, and the commands that turn their
// pager off.
//
//	p, ok := profile.Get("cisco_ios")
//	ready := p.Prompt.Regex.MatchString("r1(config)#") // true
//
// A profile is only a description. It causes no input and no login.
//
// # The files
//
// Each family is one TOML file in the folder families; the file's name is the profile's
// name. It has a description, the class of the command line, and patterns. Each pattern
// has sample lines that it must match and lines that it must reject:
//
//	about = "Cisco IOS, IOS XE"
//	class = "device"                 # or posix
//	note = "..."                     # optional: what to know before typing
//	enter = "auto"                   # over Telnet: auto, cr, crlf or lf
//	paging_off = ["terminal length 0", "terminal width 512"]
//	enable = "enable"                # optional, as the next two
//	config_enter = "configure terminal"
//	config_leave = "end"
//	show_config = "show running-config"
//	reload = "reload"
//	sources = ["netmiko cisco/cisco_ios.py"]
//
//	[prompt]                         # ready for the next command
//	regex = '^[\w.\-]{1,63}(?:\([^()\r\n]{1,40}\))?[>#] ?$'
//	matches = ["r1>", "r1(config)#"]
//	rejects = ["r1#show version", "Password: "]
//
//	[config_prompt]                  # the prompt in configuration mode
//	[[pagers]]                       # any number: a pager waits for a key
//	[[errors]]                       # any number: the command was refused
//	[[volatile]]                     # any number: what changes by itself in the configuration
//	[[trials]]                       # any number: changes that undo themselves; see Trial
//	[[questions]]                    # any number: what the device asks, with the source
//
// The format is TOML because patterns in single quotes need no doubled backslashes, and
// comments can explain them. Patterns are RE2. Prompts and pagers are matched against the
// last line as a person sees it, after backspaces, carriage returns and escape sequences
// are applied. Patterns for errors are matched against the output with lines that end in
// LF, so they begin with (?m)^; so are those of volatile places, where the group, if
// there is one, is the part that changes.
//
// To add a family, add a file. The tests check every file: each pattern must have samples
// of both kinds and agree with them, and each question must be recognised by package
// session/prompt.
//
// Sources of the patterns and the steps are named in each file: other programs, recorded
// sessions and the vendors' documentation. Those of FRRouting were tested with a running
// daemon (bgpd 8.4), and the pagers of posix are those of more and less; the others should
// be treated as untested.
package profile
