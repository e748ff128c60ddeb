package direct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ptyctl/control"
	"ptyctl/internal/attach"
	"ptyctl/internal/client"
	"ptyctl/internal/tty"
	"ptyctl/term"
)

// A Host says which host to reach, and how.
type Host struct {
	Protocol      string // ssh, telnet or serial
	Host, User    string
	Port          int                // 0: as configured
	Jump          string             // as ssh -J
	HostKeyPolicy string             // empty: as configured
	Profile       string             // of the device; empty: none
	Secret        string             // for the login; empty: none
	PTY           *PTY               // nil: of the usual size
	CommandsOnly  bool               // SSH: start no shell
	Kept          bool               // it goes on without the person
	Serial        term.SerialOptions // the line, or the settings of that of a Telnet server
}

// A PTY is the terminal that a session gets on its host.
type PTY struct {
	Cols int    `json:"cols,omitempty"`
	Rows int    `json:"rows,omitempty"`
	Term string `json:"term,omitempty"`

	Answer string `json:"answer,omitempty"`
}

type openCall struct {
	Action   string      `json:"action"`
	Protocol string      `json:"protocol"`
	Host     string      `json:"host,omitempty"`
	Port     int         `json:"port,omitempty"`
	Username string      `json:"username,omitempty"`
	PTY      *PTY        `json:"pty,omitempty"`
	SSH      *sshOptions `json:"ssh_options,omitempty"`
	Expect   *expect     `json:"expect,omitempty"`
	Type     string      `json:"session_type,omitempty"`
	Auth     *auth       `json:"auth,omitempty"`
	Serial   []string    `json:"serial,omitempty"`
}

type auth struct {
	Secret string `json:"secret"`
}

type sshOptions struct {
	HostKeyPolicy string `json:"host_key_policy,omitempty"`
	ProxyJump     string `json:"proxy_jump,omitempty"`
}

type expect struct {
	Profile string `json:"profile,omitempty"`
}

// settings returns the settings of a serial line that are set, each as NAME=value.
func settings(o term.SerialOptions) (list []string) {
	for _, s := range []struct {
		name  string
		value any
	}{
		{"path", o.Path}, {"baud", o.Baud}, {"data_bits", o.DataBits}, {"parity", o.Parity}, {"stop_bits", o.StopBits},
		{"flow", o.Flow}, {"dtr", o.DTR}, {"rts", o.RTS},
	} {
		if s.value != "" && s.value != 0 {
			list = append(list, fmt.Sprintf("%s=%v", s.name, s.value))
		}
	}
	return list
}

// Open opens a session on a host and has the person answer the questions of the login. It writes warnings to errs.
func Open(
	ctx context.Context,
	on *control.Client,
	h Host,
	person *attach.Person,
	errs io.Writer,
) (*attach.Attachment, error) {
	call := openCall{
		Action: "open", Protocol: h.Protocol, Host: h.Host, Port: h.Port, Username: h.User, PTY: h.PTY,
	}
	if !h.CommandsOnly && !h.Kept { // the person's own terminal answers
		pty := PTY{}
		if h.PTY != nil {
			pty = *h.PTY
		}
		pty.Answer = "never"
		call.PTY = &pty
	}
	if o := (sshOptions{h.HostKeyPolicy, h.Jump}); o != (sshOptions{}) {
		call.SSH = &o
	}
	if h.Secret != "" {
		call.Auth = &auth{h.Secret}
	}
	call.Serial = settings(h.Serial)
	if h.CommandsOnly {
		call.Type = "exec"
	}
	if h.Profile != "" {
		call.Expect = &expect{h.Profile}
	}
	var out struct {
		SessionID string   `json:"session_id"`
		Warning   string   `json:"security_warning"`
		Warnings  []string `json:"warnings"`
	}
	if err := on.Call(ctx, client.ToolSession, call, &out); err != nil {
		return nil, err
	}
	for _, w := range append(out.Warnings, out.Warning) {
		if w != "" {
			fmt.Fprintf(errs, "ptyctl: %s\n", tty.Printable(w))
		}
	}
	a := &attach.Attachment{Client: on, ID: out.SessionID}
	err := a.Login(ctx, person)
	switch left := errors.Is(err, attach.ErrLeft); {
	case left && h.Kept:
		err = fmt.Errorf("%w: ptyctl answer %s answers it", err, tty.Printable(a.ID))
	case left: // the session ends with the command
		err = errors.New("left without an answer, so the login is given up")
	}
	// The person has asked for a host, and knows no session.
	if ended, ok := errors.AsType[*attach.EndedError](err); ok {
		err = errors.New(strings.TrimPrefix(ended.Reason, "open: "))
	}
	return a, err
}
