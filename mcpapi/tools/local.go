package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ptyctl/mcpapi/toolset"
	"ptyctl/term"
)

// maxTitle bounds a title, in bytes: each list and status shows it.
const maxTitle = 256

// limits returns the limits of the arguments; 0 means that the call sets no limit.
func (l limitsArgs) limits() term.Limits {
	return term.Limits{CPUSeconds: l.CPU, MemoryBytes: l.Memory, OpenFiles: l.OpenFiles, Processes: l.Processes}
}

// checkLocal refuses arguments for a local program in a call for another machine, and the other way round. It names
// the first one, so that the caller knows which field to leave out.
func checkLocal(c *toolset.Call, in *sessionArgs) error {
	ch := c.Checker()
	if in.Protocol != "local" {
		// Refused and not ignored: env on an SSH session would seem to be set.
		if name := c.Marked(in, "local"); name != "" {
			return ch.Invalid(
				name,
				nil,
				"%s is for protocol local, not for %s; leave it out, or open %s",
				name,
				in.Protocol,
				localExample,
			)
		}
		if in.Protocol == "serial" {
			return checkSerial(c, in)
		}
		if in.Serial.Path != "" {
			return ch.Invalid("serial.path", nil, "serial.path is a device of this machine: leave it out with protocol %s, or open %s",
				in.Protocol, serialExample)
		}
		if in.Serial != (serialArgs{}) && in.Protocol != "telnet" {
			return ch.Invalid("serial", nil, "serial is for protocol serial, and for telnet to set the server's line; leave it out")
		}
		if in.Host == "" {
			return ch.Invalid("host", ch.Fields(), "host is missing for action open with protocol %s", in.Protocol)
		}
		return nil
	}
	ch.Speaking(in.Protocol)
	if in.Serial != (serialArgs{}) {
		return ch.Invalid("serial", nil, "serial is for protocol serial; leave it out")
	}
	name := c.Marked(in, "far")
	if name == "" && in.SessionType == "console" {
		name = "session_type"
	}
	if name != "" {
		return ch.Invalid(
			name,
			nil,
			"%s is for another machine, and protocol local starts a program on this one; leave it out",
			name,
		)
	}
	switch {
	// No default shell: which one it is differs between machines, and a rule judges the program that is named.
	case len(in.Argv) == 0:
		return ch.Invalid(
			"argv",
			nil,
			"argv is missing: the program and its arguments; no shell is started unless it is named",
		)
	case isFalse(in.PTY.Enabled):
		return ch.Invalid(
			"pty.enabled",
			nil,
			"a local session has a terminal; to run a program without one use ptyctl_run",
		)
	}
	return nil
}

// serialExample is a correct call to open a serial line.
const serialExample = `{"action":"open","protocol":"serial","serial":{"path":"/dev/ttyUSB0","baud":115200}}`

// checkSerial refuses arguments for another machine, or of a terminal with a size, in a call for a serial line.
func checkSerial(c *toolset.Call, in *sessionArgs) error {
	ch := c.Checker()
	ch.Speaking(in.Protocol)
	switch name := c.Marked(in, "far"); {
	case name != "":
		return ch.Invalid(name, nil, "%s is for another machine, and protocol serial opens a line of this one; leave it out, "+
			"or open %s", name, serialExample)
	case in.Serial.Path == "":
		return ch.Invalid("serial.path", nil, "serial.path is missing: the device, such as /dev/ttyUSB0, or a name of "+
			"/dev/serial/by-id; open %s", serialExample)
	case isFalse(in.PTY.Enabled):
		return ch.Invalid("pty.enabled", nil, "a serial line is a terminal; leave pty.enabled out")
	case in.Serial.Flow == "rtscts" && in.Serial.RTS != "" && in.Serial.RTS != "keep":
		return ch.Invalid("serial.rts", nil, "with serial.flow rtscts the system sets RTS; leave serial.rts out")
	}
	return nil
}

// local returns the local program that the arguments describe.
func local(
	c *toolset.Call,
	argv []string,
	cwd string,
	env []string,
	title string,
	l limitsArgs,
) (term.LocalOptions, error) {
	ch := c.Checker()
	o := term.LocalOptions{Argv: argv, Dir: cwd, Title: title, Limits: l.limits()}
	if len(env) > 0 {
		var err error
		if o.Env, err = environment(ch, env); err != nil {
			return o, err
		}
	}
	if len(title) > maxTitle || !utf8.ValidString(title) ||
		strings.ContainsFunc(title, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return o, ch.Invalid("title", nil, "title must be one line of at most %d bytes", maxTitle)
	}
	return o, nil
}

// lowered returns a warning for each limit that the operator's maximum made lower than asked.
func lowered(asked, got term.Limits) (warnings []string) {
	for _, l := range []struct {
		name, key  string
		asked, got int64
	}{
		{"cpu_s", "local.max_cpu_seconds", int64(asked.CPUSeconds), int64(got.CPUSeconds)},
		{"memory_bytes", "local.max_memory_mib", asked.MemoryBytes, got.MemoryBytes},
		{"open_files", "local.max_open_files", int64(asked.OpenFiles), int64(got.OpenFiles)},
		{"processes", "local.max_processes", int64(asked.Processes), int64(got.Processes)},
	} {
		// Asked 0 means no limit of the call's, so that the operator's own is no surprise to report.
		if l.asked > l.got {
			warnings = append(warnings, fmt.Sprintf("limits.%s was lowered to %d (%s)", l.name, l.got, l.key))
		}
	}
	return warnings
}
