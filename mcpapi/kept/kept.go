package kept

import (
	"context"
	"encoding/json"
	"time"

	"ptyctl/session"
	"ptyctl/term"
)

// A Memory has the records that all nodes share. Its methods may be called concurrently.
type Memory interface {
	// Changed says that a session of this node has opened, has ended or is forgotten. It must not block.
	Changed(id string)

	// Find returns the record of a session that its node has certainly lost; nil: there is no record. An error of kind
	// NodeSilent says that the node may still have the session.
	Find(ctx context.Context, id string) (*Session, error)

	// Claim records that a session goes on as a new one, with the id as. If two calls claim it, the first one gets it,
	// and the other gets the first one's id as taken. release undoes the claim if the new session does not open.
	Claim(ctx context.Context, id, as string) (taken string, release func(), err error)
}

// Version is the version of the kept form of a Session.
const Version = 1

// A Session is the kept record of a session.
type Session struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	Target  Target `json:"target"`
	Device  string `json:"device,omitempty"`
	Profile string `json:"profile,omitempty"`
	IdleMS  int64  `json:"idle_ms,omitempty"` // 0: never
	Owner   Owner  `json:"owner"`
	Created int64  `json:"created"` // Unix milliseconds
}

// An Owner is the Principal of the client that has the session.
type Owner struct {
	Transport string `json:"transport,omitempty"`
	Token     string `json:"token,omitempty"` // its name
	Shim      string `json:"shim,omitempty"`
}

// Is reports whether p is the owner.
func (o Owner) Is(p term.Principal) bool {
	return term.Principal{Transport: o.Transport, Token: o.Token, Shim: o.Shim} == p.Client()
}

// A Target is a term.Target without credentials, and without the parts that exist on one machine only.
type Target struct {
	Protocol     string `json:"protocol"` // "ssh", "telnet"
	Host         string `json:"host"`
	Port         int    `json:"port,omitempty"`
	User         string `json:"user,omitempty"`
	CommandsOnly bool   `json:"commands_only,omitempty"`
	ConnectMS    int64  `json:"connect_ms,omitempty"`
	Auth         Auth   `json:"auth"`
	PTY          PTY    `json:"pty"`
	SSH          SSH    `json:"ssh"`
	Telnet       Telnet `json:"telnet"`
	Line         Line   `json:"line"`
}

// Auth says how to log in. It has no credentials.
type Auth struct {
	Method        string `json:"method,omitempty"`
	Secret        string `json:"secret,omitempty"` // the name of one of the operator's secrets
	NoInteractive bool   `json:"no_interactive,omitempty"`
}

// PTY is term.PTY.
type PTY struct {
	Disabled  bool   `json:"disabled,omitempty"`
	Term      string `json:"term,omitempty"`
	Cols      int    `json:"cols,omitempty"`
	Rows      int    `json:"rows,omitempty"`
	NoAnswers bool   `json:"no_answers,omitempty"`
}

// SSH is term.SSHOptions.
type SSH struct {
	HostKeyPolicy      string   `json:"host_key_policy,omitempty"`
	KnownHostsPath     string   `json:"known_hosts_path,omitempty"`
	HostKeyFingerprint string   `json:"host_key_fingerprint,omitempty"`
	NoConfig           bool     `json:"no_config,omitempty"`
	ConfigPath         string   `json:"config_path,omitempty"`
	ExtraArgs          []string `json:"extra_args,omitempty"`
	Legacy             bool     `json:"legacy,omitempty"`
	ProxyJump          string   `json:"proxy_jump,omitempty"`
	ProxyURL           string   `json:"proxy_url,omitempty"`
}

// Telnet is term.TelnetOptions.
type Telnet struct {
	Mode       string `json:"mode,omitempty"`
	Enter      string `json:"enter,omitempty"`
	Binary     string `json:"binary,omitempty"`
	TLS        bool   `json:"tls,omitempty"`
	ServerName string `json:"server_name,omitempty"`
	Pin        string `json:"pin,omitempty"`
}

// Line has the term.SerialOptions of a line of a Telnet server.
type Line struct {
	Baud     int    `json:"baud,omitempty"`
	DataBits int    `json:"data_bits,omitempty"`
	Parity   string `json:"parity,omitempty"`
	StopBits int    `json:"stop_bits,omitempty"`
	Flow     string `json:"flow,omitempty"`
	DTR      string `json:"dtr,omitempty"`
	RTS      string `json:"rts,omitempty"`
}

// Of returns the record to keep of a session with that id. The error says why it cannot be kept.
func Of(id string, r session.Remembered) (Session, error) {
	t := r.Target
	s := Session{
		Version: Version, ID: id, Device: r.Device, Profile: r.Profile, IdleMS: r.IdleTimeout.Milliseconds(),
		Owner: Owner{r.Owner.Transport, r.Owner.Token, r.Owner.Shim}, Created: r.Created.UnixMilli(),
		Target: Target{
			Protocol: t.Protocol, Host: t.Host, Port: t.Port, User: t.User, CommandsOnly: t.CommandsOnly,
			ConnectMS: t.ConnectTimeout.Milliseconds(),
			Auth:      Auth{Method: t.Auth.Method, Secret: t.Auth.Secret, NoInteractive: t.Auth.NoInteractive},
			PTY:       PTY{t.PTY.Disabled, t.PTY.Term, t.PTY.Cols, t.PTY.Rows, t.PTY.NoAnswers},
			SSH: SSH{
				t.SSH.HostKeyPolicy, t.SSH.KnownHostsPath, t.SSH.HostKeyFingerprint, t.SSH.NoConfig, t.SSH.ConfigPath,
				t.SSH.ExtraArgs, t.SSH.Legacy, t.SSH.ProxyJump, t.SSH.ProxyURL,
			},
			Telnet: Telnet{
				t.Telnet.Mode, t.Telnet.Enter, t.Telnet.Binary, t.Telnet.TLS.Enabled, t.Telnet.TLS.ServerName, t.Telnet.TLS.Pin,
			},
			Line: Line{
				t.Serial.Baud, t.Serial.DataBits, t.Serial.Parity, t.Serial.StopBits, t.Serial.Flow, t.Serial.DTR, t.Serial.RTS,
			},
		},
	}
	return s, s.check(id)
}

// Open returns the target of a session to open, without credentials.
func (t Target) Open() term.Target {
	return term.Target{
		Protocol: t.Protocol, Host: t.Host, Port: t.Port, User: t.User, CommandsOnly: t.CommandsOnly,
		ConnectTimeout: time.Duration(t.ConnectMS) * time.Millisecond,
		Auth:           term.Auth{Method: t.Auth.Method, Secret: t.Auth.Secret, NoInteractive: t.Auth.NoInteractive},
		PTY: term.PTY{
			Disabled: t.PTY.Disabled, Term: t.PTY.Term, Cols: t.PTY.Cols, Rows: t.PTY.Rows, NoAnswers: t.PTY.NoAnswers,
		},
		SSH: term.SSHOptions{
			HostKeyPolicy: t.SSH.HostKeyPolicy, KnownHostsPath: t.SSH.KnownHostsPath, HostKeyFingerprint: t.SSH.HostKeyFingerprint,
			NoConfig: t.SSH.NoConfig, ConfigPath: t.SSH.ConfigPath, ExtraArgs: t.SSH.ExtraArgs, Legacy: t.SSH.Legacy,
			ProxyJump: t.SSH.ProxyJump, ProxyURL: t.SSH.ProxyURL,
		},
		Telnet: term.TelnetOptions{
			Mode: t.Telnet.Mode, Enter: t.Telnet.Enter, Binary: t.Telnet.Binary,
			TLS: term.TLSOptions{Enabled: t.Telnet.TLS, ServerName: t.Telnet.ServerName, Pin: t.Telnet.Pin},
		},
		Serial: term.SerialOptions{
			Baud: t.Line.Baud, DataBits: t.Line.DataBits, Parity: t.Line.Parity, StopBits: t.Line.StopBits, Flow: t.Line.Flow,
			DTR: t.Line.DTR, RTS: t.Line.RTS,
		},
	}
}

// Encode returns the kept form of s.
func (s Session) Encode() json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil { // it has texts and numbers only
		panic(err)
	}
	return text
}
