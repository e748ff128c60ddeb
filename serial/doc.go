// Package serial opens serial lines of this machine as terminals (term.Transport).
//
//	d := serial.Dialer{Allow: serial.Allow{"/dev/serial/by-id/*", "/dev/ttyUSB*"}}
//	t, err := d.Open(ctx, term.Target{Protocol: "serial", Serial: term.SerialOptions{
//		Path: "/dev/ttyUSB0", Baud: 115200,
//	}}, nil, nil)
//
// Promises:
//
//   - Only a device that Allow has is opened. A link is followed once, and its target is checked and opened (see
//     Allow). Only serial lines and pseudo-terminals are ever opened: opening some other devices has side effects.
//   - A line has one user among the processes that honour lock files (/var/lock/LCK..ttyUSB0, FHS 3.0 section 5.9), as
//     minicom, picocom, ser2net and pppd do. The file of a process that has ended is taken over. Where the folder cannot
//     be written, the session's warnings say so. Dialer.Reserve is for locks beside these.
//   - Only written bytes are sent to the line, and no setting is tried out.
//   - Close wakes Read and Write, and returns within a second whatever the line does (Linux).
//   - A missing feature of a line, such as DTR of a pseudo-terminal, becomes a warning and not an error.
//
// On Linux the package has the device itself, without blocking; elsewhere go.bug.st/serial has it, without flow control
// and without lock files.
package serial
