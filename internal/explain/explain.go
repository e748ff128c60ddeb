package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ptyctl/config"
	"ptyctl/sshx"
	"ptyctl/sshx/sshconfig"
)

// An Explanation says how a host would be reached.
type Explanation struct {
	Way      []string `json:"way,omitempty"`        // user@host:port to log in at, the host itself last
	Refusal  string   `json:"refusal,omitempty"`    // why no connection is possible
	Code     string   `json:"error_code,omitempty"` // of Refusal, as open would return it
	Warnings []string `json:"warnings,omitempty"`
	Hosts    []Host   `json:"hosts"` // the host itself first
}

// A Host is one host on the way.
type Host struct {
	Host        string   `json:"host"`
	Settings    []Value  `json:"settings"`
	Defaults    int      `json:"defaults_left_out,omitempty"`
	HostKeys    *Trust   `json:"host_keys,omitempty"`
	Agent       *Value   `json:"agent,omitempty"`
	Unsupported []string `json:"unsupported,omitempty"` // reasons not to connect
	Ignored     []string `json:"ignored,omitempty"`     // lines without effect
}

// A Value is a setting with its origin.
type Value struct {
	Keyword string `json:"keyword"`
	Value   string `json:"value"`
	Origin  string `json:"origin"` // file:line, "default", "argument", or a key of ptyctl.toml with its own origin
}

// Trust says how a host key would be judged, which ssh_config and the operator decide together.
type Trust struct {
	Policy string   `json:"policy"`
	Origin string   `json:"origin"`
	Floor  string   `json:"floor"`
	Files  []string `json:"files,omitempty"`
}

// alwaysShown are the keywords that are shown also with their defaults.
var alwaysShown = []string{"HostName", "Port", "User", "IdentityFile", "ProxyJump"}

// New explains an inspection. refusal is its error; all includes defaults and lines for other hosts.
func New(in *sshx.Inspection, refusal error, cfg config.Config, all bool) Explanation {
	e := Explanation{Way: in.Way, Hosts: make([]Host, 0, len(in.Hosts))}
	if refusal != nil {
		e.Refusal = refusal.Error()
	}
	shown := make(map[string]bool) // warnings that a host shows as its own
	for i := range in.Hosts {
		h := explainHost(&in.Hosts[i], cfg, all)
		for j := range h.Settings {
			if s := &h.Settings[j]; i > 0 && s.Origin == sshconfig.Argument.String() {
				s.Origin = "ProxyJump" // its words are the arguments there
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

func explainHost(in *sshx.InspectedHost, cfg config.Config, all bool) Host {
	h := Host{Host: in.Name, Settings: []Value{}}
	for _, s := range in.Config.Settings() {
		if v, ok := operatorsOwn(s, cfg); ok {
			h.Settings = append(h.Settings, v)
			continue
		}
		for _, v := range s.Values {
			value, origin := v.Text, v.Origin.String()
			if !all && v.Origin.Source == sshconfig.Default && !slices.Contains(alwaysShown, s.Keyword) {
				h.Defaults++
				continue
			}
			h.Settings = append(h.Settings, Value{s.Keyword, value, origin})
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
		trust := Trust{
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

// operatorsOwn returns the value of a keyword for which a key of ptyctl.toml decides, in place of ssh_config. Its
// origin names the line that has no effect.
func operatorsOwn(s sshconfig.Setting, cfg config.Config) (Value, bool) {
	const key = "ssh.known_hosts_path"
	if s.Keyword != "UserKnownHostsFile" || cfg.SSH.KnownHostsPath == "" {
		return Value{}, false
	}
	v := Value{s.Keyword, cfg.SSH.KnownHostsPath, key + ", " + cfg.Origin(key)}
	for _, replaced := range s.Values {
		if replaced.Origin.Caller() {
			return Value{}, false
		}
		if replaced.Origin.Source != sshconfig.Default {
			v.Origin += " (in place of " + replaced.Origin.String() + ")"
			break
		}
	}
	return v, true
}

// explainAgent says which agent is asked for keys, and where that is set.
func explainAgent(in *sshx.InspectedHost, cfg config.Config) Value {
	v := Value{"agent", in.Agent, "SSH_AUTH_SOCK"}
	if v.Value == "" {
		v.Value = "none"
	}
	if at := in.Config.Origin("IdentityAgent"); at.Source != sshconfig.Default {
		v.Origin = "IdentityAgent, " + at.String()
	} else if cfg.SSH.IdentityAgent != "" {
		v.Origin = "ssh.identity_agent, " + cfg.Origin("ssh.identity_agent")
	} else if in.Agent == "" {
		v.Origin = "SSH_AUTH_SOCK is not set"
	} else if in.Agent == sshconfig.WindowsAgent {
		v.Origin = "default; Pageant if it does not run"
	}
	return v
}

// Print prints the explanation for a person.
func (e Explanation) Print(w io.Writer) error {
	var b strings.Builder
	if len(e.Way) > 0 {
		fmt.Fprintf(&b, "the way: %s\n", strings.Join(e.Way, " -> "))
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
