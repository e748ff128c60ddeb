package doctor

import (
	"fmt"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/internal/app"
	"ptyctl/serial"
)

// Serial lists the serial lines of this machine: whether the configuration allows them, who has them, and what this user
// lacks to open them. None is opened.
func (r *Report) Serial(cfg config.Config) {
	const check = "serial line"
	if err := serial.Allow(cfg.Serial.Allow).Validate(); err != nil {
		r.add(Finding{Status: failing, Check: "serial.allow", Text: err.Error(), Do: "correct the entry"})
	}
	all, err := serial.Devices(cfg.Serial.Allow)
	switch {
	case err != nil:
		r.add(Finding{Status: failing, Check: check, Text: "the lines cannot be listed: " + err.Error()})
	case len(all) == 0:
		r.add(Finding{Status: noted, Check: check, Text: "this machine has none", Do: "plug one in; for a container, pass its device"})
	}
	for _, d := range all {
		text := d.Path
		if len(d.Links) > 0 {
			text += " (" + strings.Join(d.Links, ", ") + ")"
		}
		f := Finding{Status: fine, Check: check, Text: text}
		switch holder := consoleOf(cfg.Locks.DeviceDir, d.Path); {
		case d.Access != "":
			f.Status, f.Text, f.Do = failing, text+": this user may not open it", d.Access
		case holder != "":
			f.Status, f.Text = noted, text+": "+holder
		case d.LockPID != 0:
			f.Status, f.Text = noted, fmt.Sprintf("%s: process %d (%s) has it, by %s", text, d.LockPID, d.Program,
				serial.LockName(d.Path))
		case !d.Allowed:
			f.Status, f.Text, f.Do = noted, text+": serial.allow does not have it",
				"to let callers open it, list one of its paths in serial.allow"
		}
		r.add(f)
	}
}

// consoleOf says which ptyctl of this user has a device; empty: none.
func consoleOf(dir, device string) string {
	if dir == "" {
		var err error
		if dir, err = devlock.DefaultDir(); err != nil {
			return ""
		}
	}
	owner, held := devlock.Holder(dir, app.SerialLine(device))
	if !held {
		return ""
	}
	return fmt.Sprintf("process %d (ptyctl) has it in session %s since %s", owner.PID, owner.Session,
		owner.Started.Format(time.DateTime))
}
