package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/tty"
	"ptyctl/sshx"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "find out why something does not work: this machine, and the way to a host step by step",
		ArgsUsage: "[[USER@]HOST[:PORT]]",
		Description: "Without a host it looks at the configuration, the agent and this user's keys and folders.\n" +
			"With one it also connects as a session would, opens a terminal there and closes it. Keys are named by\n" +
			"their fingerprints only. On a terminal, passwords and the like are asked for. The status is 1 if a\n" +
			"check failed; each finding says one thing to do.",
		Flags: slices.Concat([]cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "batch", Usage: "ask nothing"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.DurationFlag{Name: "timeout", Usage: "how long to try, such as 5s; default as for a session"},
		}, destinationFlags()),
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 0, 1)
			if err != nil {
				return err
			}
			r := &report{w: c.App.Writer}
			if c.Bool("json") {
				r.w = nil
			}
			r.configuration(c)
			cfg, _, err := config.Load(source(c))
			switch {
			case err != nil: // it has been reported, and there is nothing to go by
			case len(words) == 0:
				r.machine(c.Context, cfg)
			default:
				target, err := destination(c, words[0])
				if err != nil {
					return err
				}
				target.ConnectTimeout = c.Duration("timeout")
				target.Auth.NoInteractive = c.Bool("batch") || !cfg.Auth.Interactive
				r.host(c.Context, cfg, target)
			}
			if c.Bool("json") {
				if err := printJSON(c.App.Writer, r); err != nil {
					return err
				}
			}
			if n := r.failed(); n > 0 {
				return fmt.Errorf("doctor: %d of %d checks failed", n, len(r.Findings))
			}
			return nil
		},
	}
}

// The statuses of a finding.
const (
	fine    = "ok"
	noted   = "note" // may be as it should be
	failing = "FAIL"
)

// A finding is the outcome of one check.
type finding struct {
	Status string `json:"status"`
	Check  string `json:"check"`
	Text   string `json:"text,omitempty"`
	MS     *int64 `json:"duration_ms,omitempty"` // of a step of the ladder
	Do     string `json:"do,omitempty"`          // the one next step
}

// A report is what doctor has found so far. It is printed as it grows.
type report struct {
	Findings []finding `json:"findings"`

	w io.Writer // nil: say nothing yet
}

func (r *report) add(f finding) {
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

func (r *report) ok(check, format string, args ...any) {
	r.add(finding{Status: fine, Check: check, Text: fmt.Sprintf(format, args...)})
}

func (r *report) failed() int {
	n := 0
	for _, f := range r.Findings {
		if f.Status == failing {
			n++
		}
	}
	return n
}

func (r *report) configuration(c *cli.Context) {
	cfg, warnings, err := config.Load(source(c))
	for _, w := range warnings {
		r.add(finding{Status: noted, Check: "configuration", Text: w.String()})
	}
	if all, ok := errors.AsType[*config.Errors](err); ok {
		for _, p := range all.Problems {
			r.add(finding{Status: failing, Check: "configuration", Text: p.Error()})
		}
		return // each problem says what to write instead
	}
	r.ok("configuration", "%s", configFile(c.String("config")))
	if app.PolicyRules(cfg).NoBoundary() {
		r.add(
			finding{
				Status: noted,
				Check:  "policy",
				Text:   noBoundary,
				Do:     "list what may run in policy.allow, or name a policy.preset; ptyctl policy check says what becomes of a command",
			},
		)
	}
	if cfg.Policy.Mode == config.PolicyModeReport {
		r.add(finding{Status: noted, Check: "policy", Text: "NOT ENFORCED: " + app.NotEnforced,
			Do: "once the audit log has no would_deny that you want to pass, remove policy.mode (" + cfg.Origin(
				"policy.mode",
			) + ")"})
	}
}

// inspect looks at the way to a target, and reports what is wrong with it.
func (r *report) inspect(in *sshx.Inspection, err error, name string) {
	for i := range in.Hosts {
		for _, w := range in.Hosts[i].Config.Warnings {
			if w.Applies {
				r.add(finding{Status: noted, Check: "ssh_config", Text: w.String()})
			}
		}
	}
	if err != nil {
		r.add(
			finding{
				Status: failing,
				Check:  "ssh_config",
				Text:   err.Error(),
				Do:     "see all of it with: ptyctl explain " + tty.CommandLine([]string{name}),
			},
		)
		return
	}
	r.ok("ssh_config", "the way is %s", joinWay(in.Way))
}
