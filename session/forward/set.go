package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ptyctl/session/access"
	"ptyctl/session/forward/address"
	"ptyctl/term"
)

// Options bound the forwards of a session. The zero value works.
type Options struct {
	TCP            bool   // a forward may have a port of 127.0.0.1, which every user and web page of this machine reaches
	Max            int    // forwards of a session; 0: 8
	MaxConnections int    // of one forward, at a time; 0: 256
	Rate           int    // new connections of one forward in a second, after as many at once; 0: 200
	Dir            string // the folder for the folders of the sockets; empty: in the user's runtime folder
}

func (o Options) withDefaults() Options {
	o.Max = cmp.Or(o.Max, 8)
	o.MaxConnections = cmp.Or(o.MaxConnections, 256)
	o.Rate = cmp.Or(o.Rate, 200)
	return o
}

// A Carrier is a session, as far as its forwards need it. Its methods may be called by any number of goroutines.
type Carrier interface {
	Context() context.Context // ends with the session

	Alive(op string) error             // says why the session is not open; nil: it is
	Ended(op string) error             // says why the session has ended; requires that its context is done
	Failed(op string, err error) error // names op and the session in an error of the far side

	Used()                                     // a byte has passed: the session is not idle
	Spawn(where string, f func()) (begun bool) // f runs in a goroutine for which the session's end waits

	Forwarder() term.Forwarder // nil: the protocol forwards nothing
}

// A Request is a forward to open.
type Request struct {
	To   string // see package address
	TCP  bool   // a port of 127.0.0.1 in place of a Unix socket
	Port int    // with TCP; 0: that of the forward there is, or any that is free
}

// Info describes a forward at one moment.
type Info struct {
	To      string // in its one form
	Socket  string // path of the Unix socket; empty: it has a port
	Address string // 127.0.0.1:PORT; empty: it has a socket

	Opened            time.Time
	Connections       int   // at this moment
	Total             int64 // so far
	Refused           int64 // beyond MaxConnections, or of another user
	Failed            int64 // that the far side did not make
	Sent, Received    int64 // bytes to and from the address
	LastError         string
	Existing, Reached bool // of Open: it was there before; a connection to the address was made
}

// where is the place at which clients connect.
func (i Info) where() string { return cmp.Or(i.Socket, i.Address) }

// A Set has the forwards of one session. Make it with NewSet.
type Set struct {
	session string
	carrier Carrier
	auth    *access.Authorizer
	o       *Options      // nil: none are offered
	opening chan struct{} // holds one token: its owner opens a forward

	mu   sync.Mutex // guards the following
	open []*forward // oldest first
}

// NewSet returns the forwards of the session with that id. auth must permit their actions. If o is nil, forwards are
// not offered, and each request is refused.
func NewSet(session string, carrier Carrier, auth *access.Authorizer, o *Options) *Set {
	if o != nil {
		full := o.withDefaults()
		o = &full
	}
	return &Set{session: session, carrier: carrier, auth: auth, o: o, opening: make(chan struct{}, 1)}
}

// probeLimit is how long Open waits for a first connection to the address.
const probeLimit = 5 * time.Second

// Open makes a forward, or returns an existing one to the same address from a socket, or from the port. It makes one
// connection to the address, and ends it at once, to learn whether the far side forwards there at all. An address that
// does not answer is no error: Info.Reached is false then, and LastError says why.
func (s *Set) Open(ctx context.Context, r Request) (info Info, err error) {
	const op = string(term.VerbForward)
	d := s.auth.Begin(ctx, term.VerbForward, term.Event{Detail: r.To})
	defer func() { d.End(err) }()
	to, err := s.possible(op, r)
	if err != nil {
		return Info{}, err
	}
	d.Event.Detail = to.String()
	if _, err := d.Permit(ctx, term.Action{To: to.String()}); err != nil {
		return Info{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.carrier.Context(), cancel)()
	select {
	case s.opening <- struct{}{}:
		defer func() { <-s.opening }()
	case <-ctx.Done():
		return Info{}, s.gaveUp(ctx, op)
	}
	if f := s.find(to, r); f != nil {
		if f.place.usable() {
			info = f.info()
			info.Existing, info.Reached = true, true
			return info, nil
		}
		f.cancel()
		<-f.over
	}
	if n := len(s.List()); n >= s.o.Max {
		return Info{}, &term.Error{
			Op: op, Session: s.session, Kind: term.LimitExceeded,
			Msg:   fmt.Sprintf("the session has %d forwards, as many as it may have; stop one that is no longer needed", n),
			Facts: term.Facts{term.LimitReached{Limit: term.LimitForwards, Value: int64(s.o.Max)}},
		}
	}
	unreached := s.probe(ctx, to)
	switch {
	case errors.Is(unreached, term.Unsupported):
		return Info{}, s.carrier.Failed(op, unreached)
	case ctx.Err() != nil:
		return Info{}, s.gaveUp(ctx, op)
	}
	f, err := s.listen(to, r, term.ActorFrom(ctx))
	if err != nil {
		return Info{}, &term.Error{Op: op, Session: s.session, Kind: term.IOError, Err: err}
	}
	f.note(unreached)
	if !f.start() {
		return Info{}, s.carrier.Ended(op)
	}
	info = f.info()
	info.Reached = unreached == nil
	d.Event.Detail += " from " + info.where()
	return info, nil
}

// possible refuses requests that cannot be forwarded, and returns the address.
func (s *Set) possible(op string, r Request) (address.Address, error) {
	if err := s.carrier.Alive(op); err != nil {
		return address.Address{}, err
	}
	to, wrong := address.Parse(r.To)
	switch {
	case s.o == nil:
		return to, s.notOffered(op, term.SettingForward, "forwarding is not offered")
	case r.TCP && !s.o.TCP:
		return to, s.notOffered(op, term.SettingForwardTCP,
			"forwarding from a TCP port is not offered, because every user and web page of this machine can reach one; "+
				"leave the port out and use the Unix socket")
	case wrong != nil:
		return to, &term.Error{
			Op: op, Session: s.session, Kind: term.InvalidArgument,
			Msg:   fmt.Sprintf("the address %.300q %v", r.To, wrong),
			Facts: term.Facts{term.ArgumentFault{Field: term.FieldForwardTo}},
		}
	case s.carrier.Forwarder() == nil:
		return to, &term.Error{
			Op: op, Session: s.session, Kind: term.Unsupported, Reason: term.ReasonNoForwarding,
			Msg:    "this session's protocol forwards no connections: only an SSH session does",
			Advice: "open a session over SSH to a host that reaches the address",
		}
	}
	return to, nil
}

// notOffered is the error for a request that the operator does not offer.
func (s *Set) notOffered(op string, setting term.Setting, text string) error {
	return &term.Error{
		Op: op, Session: s.session, Kind: term.PolicyDenied, Msg: text, Facts: term.Facts{term.Denial{Setting: setting}},
	}
}

// gaveUp is the error of a call after its caller left or its session ended.
func (s *Set) gaveUp(ctx context.Context, op string) error {
	if s.carrier.Context().Err() != nil {
		return s.carrier.Ended(op)
	}
	return &term.Error{
		Op: op, Session: s.session, Kind: term.Canceled, Err: context.Cause(ctx), Msg: "canceled; nothing is forwarded",
	}
}

// probe makes a connection to the address, and ends it.
func (s *Set) probe(ctx context.Context, to address.Address) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	far, err := s.carrier.Forwarder().Forward(ctx, to.Host, to.Port)
	if err == nil {
		_ = far.Close()
	}
	return err
}

// leading returns the forwards to an address, oldest first, without those that are about to end.
func (s *Set) leading(to address.Address) (list []*forward) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.open {
		if f.to == to && f.ctx.Err() == nil {
			list = append(list, f)
		}
	}
	return list
}

// find returns the existing forward to an address for a request, or nil: then a new one is made.
func (s *Set) find(to address.Address, r Request) *forward {
	for _, f := range s.leading(to) {
		if (f.place.port > 0) == r.TCP && (r.Port == 0 || r.Port == f.place.port) {
			return f
		}
	}
	return nil
}

// List describes the forwards, oldest first.
func (s *Set) List() []Info {
	s.mu.Lock()
	all := slices.Clone(s.open)
	s.mu.Unlock()
	list := make([]Info, len(all))
	for i, f := range all {
		list[i] = f.info()
	}
	return list
}

// Stop ends the forwards to an address, with their connections. It returns their descriptions; the list is empty if
// there were no such forwards.
func (s *Set) Stop(ctx context.Context, to string) (ended []Info, err error) {
	d := s.auth.Begin(ctx, term.VerbForwardEnd, term.Event{Detail: to})
	defer func() { d.End(err) }()
	at, err := s.possible(string(term.VerbForward), Request{To: to})
	if err != nil {
		return nil, err
	}
	d.Event.Detail = at.String()
	if _, err := d.Permit(ctx, term.Action{To: at.String()}); err != nil {
		return nil, err
	}
	for _, f := range s.leading(at) {
		if !f.recorded.CompareAndSwap(false, true) { // another call stops it, or the session's end
			continue
		}
		f.cancel()
		<-f.over
		ended = append(ended, f.info())
	}
	for i, e := range ended {
		if i == 0 {
			d.Event.Detail = ""
		} else {
			d.Event.Detail += "; "
		}
		d.Event.Detail += e.Summary()
		d.Event.Size += int(e.Sent + e.Received)
	}
	return ended, nil
}

// remove takes a forward that has ended off the list.
func (s *Set) remove(f *forward) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *forward) bool { return o == f })
}
