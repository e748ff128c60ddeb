package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"ptyctl/config"
	"ptyctl/mcpapi/identity"
	"ptyctl/ptyx"
	"ptyctl/serial"
	"ptyctl/term"
)

// localSandbox returns the paths that the configuration lets programs on this machine reach.
func localSandbox(c config.Local) ptyx.Sandbox {
	return ptyx.Sandbox{Read: c.ReadPaths, Write: c.WritePaths}
}

// localHost is this machine, as the configuration lets it be used. If its control group has a memory limit, one program
// too many would end this process.
func localHost(c config.Local, limited bool) ptyx.Host {
	return ptyx.Host{
		EndFirst: limited, Inherit: c.InheritEnv,
		Sandbox: localSandbox(c),
		Limits: term.Limits{
			CPUSeconds: c.MaxCPUSeconds, MemoryBytes: int64(c.MaxMemoryMiB) << 20,
			OpenFiles: c.MaxOpenFiles, Processes: c.MaxProcesses,
		},
	}
}

// localTransports returns the transports over which clients may use programs on this machine. The control socket counts
// as stdio, because only ptyctl's own user may open it.
func localTransports(c config.Local) (allowed []string) {
	if c.Stdio {
		allowed = append(allowed, "stdio", "socket", "cli")
	}
	if c.HTTP {
		allowed = append(allowed, "http")
	}
	// A person at the page opens nothing, and types where a client may.
	if len(allowed) > 0 {
		allowed = append(allowed, identity.PageTransport)
	}
	return allowed
}

// localGate lets the clients of other transports only read and close local sessions. Serial lines belong to this machine,
// too, but those that may be opened are listed (serialGate), so that the clients on it need no more permission.
func localGate(c config.Local) term.Gate {
	allowed := localTransports(c)
	return func(_ context.Context, a term.Action) (term.Ruling, error) {
		if a.Protocol == "serial" && a.Actor.Transport == "http" && !c.HTTP && a.Verb != term.VerbClose {
			return term.Ruling{}, notOver(a, "serial lines", "local.http")
		}
		if a.Protocol != "local" || a.Verb == term.VerbClose || slices.Contains(allowed, a.Actor.Transport) {
			return term.Ruling{}, nil
		}
		rule := "local.stdio"
		if a.Actor.Transport == "http" {
			rule = "local.http"
		}
		what := "programs"
		if a.Verb == term.VerbFileRead || a.Verb == term.VerbFileWrite {
			what = "files"
		}
		return term.Ruling{}, notOver(a, what, rule)
	}
}

// notOver is the error of a client over a transport for which this machine is off.
func notOver(a term.Action, what, rule string) error {
	return &term.Error{
		Op: string(a.Verb), Session: a.Session, Kind: term.PolicyDenied, Facts: term.Facts{term.Denial{Rule: rule}},
		Msg: fmt.Sprintf(
			"%s on the machine of ptyctl are off for clients over %s; the operator may allow them (%s = true)",
			what,
			a.Actor.Transport,
			rule,
		),
	}
}

// checkSerial refuses an entry of serial.allow that can never match. Its error is a *ConfigError.
func checkSerial(cfg config.Config) error {
	if err := serial.Allow(cfg.Serial.Allow).Validate(); err != nil {
		return &ConfigError{fmt.Errorf("%s: serial.allow: %w", cfg.Origin("serial.allow"), err)}
	}
	return nil
}

// serialGate allows the serial lines of serial.allow. It applies in report mode, too: a line that is not listed does
// not exist. It does not refuse a device that is missing now; the dialer judges the device once more.
func serialGate(allow serial.Allow) func(term.Action) error {
	return func(a term.Action) error {
		if a.Verb != term.VerbOpen || a.Target == nil || a.Target.Protocol != "serial" {
			return nil
		}
		if _, err := allow.Judge(a.Target.Serial.Path); errors.Is(err, term.PolicyDenied) {
			return err
		}
		return nil
	}
}

// superviseLocal makes ptyctl the parent of the processes that local programs leave behind, if there can be any, until
// stop is called.
func superviseLocal(c config.Local, log *slog.Logger) (stop func()) {
	if len(localTransports(c)) == 0 {
		return func() {}
	}
	stop, err := ptyx.Supervise()
	if err != nil {
		log.Warn("what local programs leave behind may escape", "error", err)
		return func() {}
	}
	return stop
}
