package tools

import (
	"fmt"

	"ptyctl/mcpapi/toolset"
	"ptyctl/session"
)

// maxDevice bounds a device's name, in bytes: each list and status shows it.
const maxDevice = 256

// checkConsole refuses a console without a device, and a device without a console. The name is shown in logs and
// lists, so it must not hold control characters.
func checkConsole(c *toolset.Call, in *sessionArgs) error {
	ch := c.Checker()
	switch console := in.SessionType == "console"; {
	case console && in.DeviceID == "":
		return ch.Invalid(
			"device_id",
			nil,
			"session_type console needs device_id: a name for the device, the same in all calls, such as switch-001",
		)
	case !console && in.DeviceID != "":
		return ch.Invalid("device_id", nil, "device_id is for session_type console; add that, or leave device_id out")
	case in.SessionType == "exec" && in.Protocol != "ssh":
		return ch.Invalid("session_type", nil, "session_type exec is for protocol ssh; leave it out")
	case len(in.DeviceID) > maxDevice:
		return ch.Invalid("device_id", nil, "device_id has %d bytes; %d are allowed", len(in.DeviceID), maxDevice)
	}
	for _, r := range in.DeviceID {
		if r < ' ' || r == 0x7f {
			return ch.Invalid("device_id", nil, "device_id holds a control character; use the device's name")
		}
	}
	return nil
}

// onLine warns a call that has joined the session of a serial line, where that is not as the call asks.
func onLine(c *toolset.Call, in *sessionArgs, i session.Info) {
	c.Inform(fmt.Sprintf("session %s had the line %s already; its settings hold, and not those of this call", i.ID, i.Host))
	if i.Device != in.DeviceID {
		c.Inform("it is " + map[bool]string{
			true: "no console, so that all may type", false: "the console " + i.Device + ": typing needs its lock",
		}[i.Device == ""])
	}
}

// existing reports in the result that the console was open before the call, with its lock. It warns if the session
// leads to another host than the call asked for: the caller may have the wrong device.
func existing(c *toolset.Call, in *sessionArgs, i session.Info, out *sessionOut) {
	out.Existing = i.ID
	// The lock, if any, was taken before this call, by its holder.
	acquired := false
	out.LockAcquired = &acquired
	if i.Lease != nil {
		out.lease(*i.Lease)
	}
	if serial := i.Protocol == "serial" && in.Protocol == "serial"; serial {
		onLine(c, in, i)
	} else if i.Host != in.Host || i.Protocol != in.Protocol {
		c.Inform(
			fmt.Sprintf(
				"device %s has its session on host %s over %s, not as this call asked; "+
					"the call's other arguments have no effect either",
				i.Device,
				i.Host,
				i.Protocol,
			),
		)
	}
}
