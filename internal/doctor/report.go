package doctor

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/quote"
	"ptyctl/sshx"
)

// The statuses of a finding.
const (
	fine    = "ok"
	noted   = "note" // may be intended
	failing = "FAIL"
)

// A Finding is the outcome of one check.
type Finding struct {
	Status string `json:"status"`
	Check  string `json:"check"`
	Text   string `json:"text,omitempty"`
	MS     *int64 `json:"duration_ms,omitempty"` // of a step of the connection
	Do     string `json:"do,omitempty"`          // the one next step
}

// A Report holds the findings so far. It is printed as it grows.
type Report struct {
	Findings []Finding `json:"findings"`

	w io.Writer // nil: nothing is printed
}

// NewReport returns a report that prints each finding to w; nil: it prints nothing.
func NewReport(w io.Writer) *Report { return &Report{w: w} }

func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	if r.w == nil {
		return
	}
	text := tty.Printable(f.Text)
	if f.MS != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s (%s)", text, time.Duration(*f.MS)*time.Millisecond))
	}
	fmt.Fprintf(r.w, "%-4s  %-14s  %s\n", f.Status, f.Check, text)
	if f.Do != "" {
		fmt.Fprintf(r.w, "      do: %s\n", tty.Printable(f.Do))
	}
}

func (r *Report) ok(check, format string, args ...any) {
	r.add(Finding{Status: fine, Check: check, Text: fmt.Sprintf(format, args...)})
}

// Failed counts the checks that failed.
func (r *Report) Failed() int {
	n := 0
	for _, f := range r.Findings {
		if f.Status == failing {
			n++
		}
	}
	return n
}

// Configuration checks the configuration from source and returns it. file names it in the report. ok is false if it is
// wrong.
func (r *Report) Configuration(source config.Source, file string) (cfg config.Config, ok bool) {
	cfg, warnings, err := config.Load(source)
	for _, w := range warnings {
		r.add(Finding{Status: noted, Check: "configuration", Text: w.String()})
	}
	if all, wrong := errors.AsType[*config.Errors](err); wrong {
		for _, p := range all.Problems {
			r.add(Finding{Status: failing, Check: "configuration", Text: p.Error()})
		}
		return cfg, false // each problem has the right form in its text
	}
	r.ok("configuration", "%s", file)
	if app.PolicyRules(cfg).NoBoundary() {
		r.add(
			Finding{
				Status: noted,
				Check:  "policy",
				Text:   app.NoBoundary,
				Do: "list what may run in policy.allow, or name a policy.preset; " +
					"ptyctl policy check says what becomes of a command",
			},
		)
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		r.add(Finding{
			Status: noted, Check: "policy", Text: "NOT ENFORCED: " + app.NotEnforced,
			Do: "once the audit log has no would_deny that you want to pass, remove policy.mode (" +
				cfg.Origin("policy.mode") + ")",
		})
	}
	return cfg, err == nil
}

// inspect reports the way to a target and the problems with it.
func (r *Report) inspect(in *sshx.Inspection, err error, name string) {
	for i := range in.Hosts {
		for _, w := range in.Hosts[i].Config.Warnings {
			if w.Applies {
				r.add(Finding{Status: noted, Check: "ssh_config", Text: w.String()})
			}
		}
	}
	if err != nil {
		r.add(
			Finding{
				Status: failing,
				Check:  "ssh_config",
				Text:   err.Error(),
				Do:     "see all of it with: ptyctl explain " + quote.Show([]string{name}),
			},
		)
		return
	}
	r.ok("ssh_config", "the way is %s", strings.Join(in.Way, " -> "))
	for i := range in.Hosts {
		r.proxyCommand(&in.Hosts[i])
	}
}

// proxyCommand checks that the program exists through which ssh_config reaches a host. Whether it does is the step proxy
// of the connection.
func (r *Report) proxyCommand(h *sshx.InspectedHost) {
	line := h.Config.ProxyCommand
	if line == "" {
		return
	}
	at := h.Config.Origin("ProxyCommand")
	program, err := h.ProxyProgram()
	switch {
	case err != nil:
		r.add(Finding{
			Status: noted, Check: "ProxyCommand", Text: fmt.Sprintf("%s: %s: %v", at, line, err),
			Do: "install the program, or give its whole path in ssh_config",
		})
	case program == "":
		r.ok("ProxyCommand", "%s: %s", at, line)
	default:
		r.ok("ProxyCommand", "%s: %s; the program is %s", at, line, program)
	}
}
