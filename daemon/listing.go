package daemon

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"ptyctl/control"
)

// AskList asks for the sessions that live. It is the one request that daemons and clients of all protocols understand,
// so that sessions can be found across an upgrade. Its form never changes: a later version may add members, and must
// keep the names and types of these.
//
//	{"ptyctl_daemon":2,"ask":"list","token":"..."}
//	{"ptyctl_daemon":1,"build":"1.4.0","pid":7,"started":"2026-01-02T15:04:05Z","sessions":[...],"more":false}
//
// Both are a line of at most 1 MiB; a member at its zero value may be absent. A refusal has the member refused.
const AskList Ask = "list"

// A Listing is the answer to AskList.
type Listing struct {
	Protocol int       `json:"ptyctl_daemon"`
	Build    string    `json:"build"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Refused  string    `json:"refused,omitempty"`
	Sessions []Listed  `json:"sessions,omitempty"`
	More     bool      `json:"more,omitempty"` // than fit on a line
}

// Listed is a session in a Listing.
type Listed struct {
	SessionID string `json:"session_id"`
	Protocol  string `json:"protocol"` // ssh, telnet or local
	Host      string `json:"host,omitempty"`
	State     string `json:"state"`
	Created   int64  `json:"created_at"`               // Unix milliseconds, like the next one
	Orphaned  int64  `json:"orphaned_since,omitempty"` // when its client left; 0: a client has it

	// The client that has it, or has left it; Any: every client in the folder may adopt it.
	Program string `json:"program,omitempty"`
	Folder  Octets `json:"folder,omitempty"`
	Any     bool   `json:"any,omitempty"`
}

// list answers AskList, of whatever protocol.
func (s *Server) list(c net.Conn, h Hello) {
	l := Listing{Protocol: Protocol, Build: s.o.Build, PID: os.Getpid(), Started: s.started}
	switch err := s.shown(h); {
	case err != nil:
		l.Refused = err.Error()
	case s.o.Listed != nil:
		l.Sessions = s.o.Listed()
	}
	for errors.Is(writeLine(c, l), errLong) { // nothing was written
		l.Sessions, l.More = l.Sessions[:len(l.Sessions)/2], true
	}
}

// shown reports why the one who asks may not learn of clients and sessions.
func (s *Server) shown(h Hello) error {
	if s.o.Shown == nil {
		return nil
	}
	return s.o.Shown(h.Token)
}

// List asks the daemon of a place, of whatever protocol, for its sessions.
func (p Place) List(ctx context.Context, token string) (l Listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	c, err := control.Connect(ctx, p.Socket())
	if err != nil {
		return l, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if err := writeLine(c, Hello{Protocol: Protocol, Ask: AskList, Token: token}); err != nil {
		return l, err
	}
	if err := readLine(bufio.NewReader(c), &l); err != nil {
		return l, err
	}
	if l.Refused != "" {
		return l, &RefusedError{plainText(l.Refused)}
	}
	l.Build = plainText(l.Build)
	for i := range l.Sessions {
		e := &l.Sessions[i]
		e.SessionID, e.Protocol = plainText(e.SessionID), plainText(e.Protocol)
		e.Host, e.State = plainText(e.Host), plainText(e.State)
	}
	return l, nil
}

// listWait bounds List: a daemon that was stopped must not keep the lists of others waiting.
const listWait = 2 * time.Second

// Kin returns the places of daemons with the same configuration that speak another protocol. Their processes may have
// ended.
func (p Place) Kin() []Place {
	_, engine, ok := parse(p.name)
	if !ok {
		return nil
	}
	var kin []Place
	for _, other := range inFolder(p.dir) {
		if n, e, _ := parse(other.name); n != Protocol && e == engine {
			kin = append(kin, other)
		}
	}
	return kin
}

// Protocol is the number of the protocol that the daemon of a place speaks.
func (p Place) Protocol() int {
	n, _, _ := parse(p.name)
	return n
}

// parse takes the name of a place apart.
func parse(name string) (protocol int, engine string, ok bool) {
	rest, begins := strings.CutPrefix(name, "d-")
	number, engine, parts := strings.Cut(rest, "-")
	protocol, err := strconv.Atoi(number)
	return protocol, engine, begins && parts && err == nil && protocol > 0 && strconv.Itoa(protocol) == number && engine != ""
}

// inFolder returns the places with a socket in a runtime folder, of all protocols.
func inFolder(dir string) (all []Place) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".sock")
		if _, _, named := parse(name); ok && named && control.IsSocket(e) {
			all = append(all, Place{dir: dir, name: name})
		}
	}
	return all
}
