package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/sshx"
	"ptyctl/sshx/sshconfig"
)

func explainCommand() *cli.Command {
	return &cli.Command{
		Name: "explain", Usage: "show how a host would be reached: each value of ssh_config with its place, and what is unsupported",
		ArgsUsage: "[USER@]HOST[:PORT]",
		Description: "Nothing is sent to the host. The status is 1 if the configuration does not let it be reached.\n" +
			"Values are those of ssh_config(5) after expansion; ~/.ssh/config is read as OpenSSH reads it.",
		Flags: slices.Concat([]cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "all", Usage: "show defaults too, and warnings about lines for other hosts"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		}, destinationFlags()),
		Action: func(c *cli.Context) error {
			words, err := arguments(c, 1, 1)
			if err != nil {
				return err
			}
			target, err := destination(c, words[0])
			if err != nil {
				return err
			}
			cfg, _, err := loadConfig(c)
			if err != nil {
				return err
			}
			in, refusal := sshx.Inspect(c.Context, target, app.QuietSSHOptions(cfg))
			if len(in.Hosts) == 0 {
				return refusal
			}
			e := newExplanation(in, refusal, cfg, c.Bool("all"))
			if c.Bool("json") {
				err = printJSON(c.App.Writer, e)
			} else {
				err = e.print(c.App.Writer)
			}
			if err == nil && refusal != nil {
				return fmt.Errorf("explain: %s cannot be reached with this configuration", target.Host)
			}
			return err
		},
	}
}

// An explanation is what explain shows.
type explanation struct {
	Way      []string        `json:"way,omitempty"`     // user@host:port to log in at, the host itself last
	Refusal  string          `json:"refusal,omitempty"` // why there is no way
	Warnings []string        `json:"warnings,omitempty"`
	Hosts    []explainedHost `json:"hosts"` // the host itself first
}

type explainedHost struct {
	Host        string           `json:"host"`
	Settings    []explainedValue `json:"settings"`
	Defaults    int              `json:"defaults_left_out,omitempty"`
	HostKeys    *explainedTrust  `json:"host_keys,omitempty"`
	Agent       *explainedValue  `json:"agent,omitempty"`
	Unsupported []string         `json:"unsupported,omitempty"` // reasons not to connect
	Ignored     []string         `json:"ignored,omitempty"`     // lines without effect
}

type explainedValue struct {
	Keyword string `json:"keyword"`
	Value   string `json:"value"`
	Origin  string `json:"origin"` // file:line, "default", "argument", or a key of ptyctl.toml with its own origin
}

// explainedTrust is how a host key would be judged, which is not ssh_config's to say alone.
type explainedTrust struct {
	Policy string   `json:"policy"`
	Origin string   `json:"origin"`
	Floor  string   `json:"floor"`
	Files  []string `json:"files,omitempty"`
}

// alwaysShown are the keywords that a person asks about, whoever has set them.
var alwaysShown = []string{"HostName", "Port", "User", "IdentityFile", "ProxyJump"}

func newExplanation(in *sshx.Inspection, refusal error, cfg config.Config, all bool) explanation {
	e := explanation{Way: in.Way, Hosts: make([]explainedHost, 0, len(in.Hosts))}
	if refusal != nil {
		e.Refusal = refusal.Error()
	}
	shown := make(map[string]bool) // warnings that a host shows as its own
	for i := range in.Hosts {
		h := explainHost(&in.Hosts[i], cfg, all)
		for j := range h.Settings {
			if s := &h.Settings[j]; i > 0 && s.Origin == sshconfig.Argument.String() {
				s.Origin = "ProxyJump" // whose words are the arguments there
			}
		}
		for _, w := range h.Ignored {
			shown[w] = true
		}
		e.Hosts = append(e.Hosts, h)
	}
	for _, w := range in.Warnings {
		if !shown[w] {
			e.Warnings = append(e.Warnings, w)
		}
	}
	return e
}

func explainHost(in *sshx.InspectedHost, cfg config.Config, all bool) explainedHost {
	h := explainedHost{Host: in.Name, Settings: []explainedValue{}}
	for _, s := range in.Config.Settings() {
		for _, v := range s.Values {
			value, origin := v.Text, v.Origin.String()
			if key, instead := operatorsOwn(s.Keyword, v, cfg); key != "" {
				value, origin = instead, key+", "+cfg.Origin(key)
			}
			if !all && v.Origin.Source == sshconfig.Default && origin == v.Origin.String() &&
				!slices.Contains(alwaysShown, s.Keyword) {
				h.Defaults++
				continue
			}
			h.Settings = append(h.Settings, explainedValue{s.Keyword, value, origin})
		}
	}
	for _, r := range in.Config.Unsupported {
		h.Unsupported = append(h.Unsupported, r.Error())
	}
	for _, w := range in.Config.Warnings {
		switch {
		case w.Applies:
			h.Ignored = append(h.Ignored, w.String())
		case all:
			h.Ignored = append(h.Ignored, w.String()+" (not for this host)")
		}
	}
	if in.Planned() {
		trust := explainedTrust{
			Policy: in.HostKeyPolicy.String(),
			Origin: "ssh.host_key_policy, " + cfg.Origin("ssh.host_key_policy"),
			Floor:  string(cfg.SSH.HostKeyFloor),
			Files:  in.KnownHosts,
		}
		if at := in.Config.Origin("StrictHostKeyChecking"); at.Source != sshconfig.Default {
			trust.Origin = "StrictHostKeyChecking, " + at.String()
		}
		agent := explainAgent(in, cfg)
		h.HostKeys, h.Agent = &trust, &agent
	}
	return h
}

// operatorsOwn returns the key of ptyctl.toml that decides in place of a default of ssh_config, and its value.
func operatorsOwn(keyword string, v sshconfig.Value, cfg config.Config) (key, value string) {
	if v.Origin.Source != sshconfig.Default {
		return "", ""
	}
	if keyword == "UserKnownHostsFile" && cfg.SSH.KnownHostsPath != "" {
		return "ssh.known_hosts_path", cfg.SSH.KnownHostsPath
	}
	return "", ""
}

// explainAgent says which agent is asked for keys, and who has decided that.
func explainAgent(in *sshx.InspectedHost, cfg config.Config) explainedValue {
	v := explainedValue{"agent", in.Agent, "SSH_AUTH_SOCK"}
	if v.Value == "" {
		v.Value = "none"
	}
	if at := in.Config.Origin("IdentityAgent"); at.Source != sshconfig.Default {
		v.Origin = "IdentityAgent, " + at.String()
	} else if cfg.SSH.IdentityAgent != "" {
		v.Origin = "ssh.identity_agent, " + cfg.Origin("ssh.identity_agent")
	} else if in.Agent == "" {
		v.Origin = "SSH_AUTH_SOCK is not set"
	}
	return v
}

func (e explanation) print(w io.Writer) error {
	var b strings.Builder
	if len(e.Way) > 0 {
		fmt.Fprintf(&b, "the way: %s\n", joinWay(e.Way))
	}
	for i, h := range e.Hosts {
		title := h.Host
		if i > 0 {
			title = "jump host " + h.Host
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		settings := h.Settings
		if h.Agent != nil {
			settings = append(settings, *h.Agent)
		}
		for _, s := range settings {
			fmt.Fprintf(&b, "  %-20s  %-30s  %s\n", s.Keyword, s.Value, s.Origin)
		}
		if t := h.HostKeys; t != nil {
			fmt.Fprintf(&b, "  %-20s  %-30s  %s\n", "host key policy", t.Policy, t.Origin)
			fmt.Fprintf(&b, "  host keys are compared with %s\n", strings.Join(t.Files, ", "))
		}
		if h.Defaults > 0 {
			fmt.Fprintf(&b, "  %d more values are defaults; --all shows them\n", h.Defaults)
		}
		for _, r := range h.Unsupported {
			fmt.Fprintf(&b, "  unsupported: %s\n", r)
		}
		for _, r := range h.Ignored {
			fmt.Fprintf(&b, "  without effect: %s\n", r)
		}
	}
	if len(e.Warnings) > 0 {
		b.WriteByte('\n')
	}
	for _, warning := range e.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	if e.Refusal != "" {
		fmt.Fprintf(&b, "\nrefused: %s\n", e.Refusal)
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}
