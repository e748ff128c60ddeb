package sshconfig

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Config is the configuration of one host: every keyword that this client honours, with
// defaults filled in and tokens expanded.
type Config struct {
	Host         string // the name of the call
	File         string // the file that is read first, where a line can be added; empty: none is read
	HostName     string // name or address to connect to
	Port         int
	User         string
	HostKeyAlias string // in lower case; empty if not set

	// The network connection to HostName.
	AddressFamily      string // any, inet or inet6
	BindAddress        string
	BindInterface      string
	ConnectTimeout     time.Duration // 0: the system's limit
	ConnectionAttempts int           // at least 1
	TCPKeepAlive       bool
	ProxyJump          []Jump // jump hosts in the order of connection
	ProxyCommand       string // for "$SHELL -c"; only an allowed one of the operator

	KexAlgorithms            []string
	Ciphers                  []string
	MACs                     []string
	HostKeyAlgorithms        []string
	HostKeyAlgorithmsFixed   bool // the file sets the order, so known keys must not change it
	PubkeyAcceptedAlgorithms []string
	CASignatureAlgorithms    []string
	RequiredRSASize          int   // bits
	RekeyLimit               int64 // bytes; 0: the cipher's own limit

	StrictHostKeyChecking            string // yes, accept-new, ask or no
	UserKnownHostsFiles              []string
	GlobalKnownHostsFiles            []string
	RevokedHostKeys                  []string
	HashKnownHosts                   bool
	CheckHostIP                      bool
	NoHostAuthenticationForLocalhost bool
	UpdateHostKeys                   string // yes, no or ask

	IdentityFiles                []Value // those with origin Default are tried if they exist
	CertificateFiles             []Value
	IdentitiesOnly               bool
	IdentityAgent                string        // path of the socket; empty: no agent
	AddKeysToAgent               string        // no, yes, ask or confirm
	AddKeysLifetime              time.Duration // 0: no limit
	PreferredAuthentications     []string      // empty: the client's order
	PubkeyAuthentication         bool
	PasswordAuthentication       bool
	KbdInteractiveAuthentication bool
	NumberOfPasswordPrompts      int
	BatchMode                    bool

	ServerAliveInterval time.Duration // 0: off
	ServerAliveCountMax int
	SendEnv             []Value  // patterns of names
	SetEnv              []string // NAME=VALUE
	SetEnvNames         []string // all names in SetEnv lines, including values that failed to expand
	RequestTTY          string   // yes, no, force or auto
	RemoteCommand       string   // empty: none
	ForwardAgent        bool
	ForwardAgentSocket  string // the agent to forward; empty: the one in use
	VersionAddendum     string

	// Warnings concern lines that were skipped or have no effect here.
	Warnings []Warning
	// Unsupported lists the reasons not to connect. The caller must not connect unless it is
	// empty.
	Unsupported []Refusal

	set     map[string]*setting
	effects map[string][]Value // values in force, by canonical name, for Settings
}

// Origin returns where a keyword, in any case, was set. For a keyword that accumulates it is
// the first place. The Source is Default if no source set the keyword.
func (c *Config) Origin(keyword string) Origin {
	if k := lookup(keyword); k != nil {
		if s := c.set[k.Name]; s != nil {
			return s.origin
		}
	}
	return Origin{Source: Default}
}

// A Setting is one keyword in force, with its expanded values. Values that accumulate have an
// origin each; other keywords have one origin.
type Setting struct {
	Keyword string // spelling of the manual page
	Values  []Value
}

// Settings returns every keyword that has a value, defaults included, in the order of [Keywords].
func (c *Config) Settings() []Setting {
	var list []Setting
	for i := range keywords {
		k := &keywords[i]
		values, ok := c.effects[k.Name]
		if !ok {
			continue
		}
		values = slices.Clone(values)
		if !k.Accumulates && k.Name != "SetEnv" {
			texts := make([]string, len(values))
			for i, v := range values {
				texts[i] = v.Text
			}
			values = []Value{{Text: strings.Join(texts, " "), Origin: values[0].Origin}}
		}
		list = append(list, Setting{Keyword: k.Name, Values: values})
	}
	return list
}

// Dump writes the configuration as "keyword value" lines, like ssh -G: the keyword in lower
// case, one line for each accumulated value, and no line for a keyword without a value.
// Values are expanded.
func (c *Config) Dump(w io.Writer) error {
	for _, s := range c.Settings() {
		for _, v := range s.Values {
			if _, err := fmt.Fprintf(w, "%s %s\n", strings.ToLower(s.Keyword), v.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// note records the values of a keyword that was set in one place, for Settings.
func (c *Config) note(name string, texts ...string) {
	values := make([]Value, len(texts))
	for i, text := range texts {
		values[i] = Value{Text: text, Origin: c.Origin(name)}
	}
	c.noteValues(name, values)
}

// noteValues records values with their own origins, for Settings.
func (c *Config) noteValues(name string, values []Value) {
	if len(values) > 0 && (len(values) > 1 || values[0].Text != "") {
		c.effects[name] = values
	}
}
