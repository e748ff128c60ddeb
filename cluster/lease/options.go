package lease

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/lease/rules"
)

// Options say where the leases are kept, and for how long they last.
type Options struct {
	Servers []string // URLs of NATS servers, for example nats://nats1:4222; required. No error shows credentials in them
	Node    string   // the name of this machine in the cluster; required
	Bucket  string   // of all nodes that share devices; empty: "ptyctl-devices"

	TTL      time.Duration // of a lease without a renewal: 2 s to 1 h; 0: 30 s. All nodes must have the same
	Margin   time.Duration // by which a lease ends here before the servers end it; 0: TTL/6
	Timeout  time.Duration // longest time of a call without an earlier deadline; 0: 10 s
	Replicas int           // of a bucket that is made; 0: 3 if the cluster has three servers or more, else 1

	NATS   []nats.Option // credentials and TLS, for example nats.UserCredentials
	Logger *slog.Logger  // nil: slog.Default
}

// The limits of Options.TTL. A server keeps no marker of an expired key for less than a second.
const (
	shortestTTL = 2 * time.Second
	longestTTL  = time.Hour
)

// withDefaults returns o with every zero field replaced by its default, or says which field is wrong.
func (o Options) withDefaults() (Options, error) {
	o.Bucket = cmp.Or(o.Bucket, "ptyctl-devices")
	o.TTL = cmp.Or(o.TTL, 30*time.Second)
	o.Margin = cmp.Or(o.Margin, o.TTL/6)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case len(o.Servers) == 0:
		return o, errors.New("lease: Options.Servers is empty: name at least one NATS server")
	case o.Node == "":
		return o, errors.New("lease: Options.Node is empty: each machine of the cluster needs a name of its own")
	case o.TTL < shortestTTL || o.TTL > longestTTL:
		return o, fmt.Errorf("lease: Options.TTL is %v: it must be between %v and %v", o.TTL, shortestTTL, longestTTL)
	case o.Margin < 0 || o.Margin > o.TTL/2:
		return o, fmt.Errorf("lease: Options.Margin is %v: it must be at most half of the TTL, %v", o.Margin, o.TTL)
	case o.Timeout < 0 || o.Replicas < 0:
		return o, errors.New("lease: Options.Timeout and Options.Replicas must not be negative")
	}
	for i, s := range o.Servers {
		if u, err := parse(s); err != nil || u.Host == "" { // the error may show a password
			return o, fmt.Errorf("lease: Options.Servers[%d] is not the URL of a server, such as nats://nats1:4222", i)
		}
	}
	return o, nil
}

// times returns the times of the leases.
func (o Options) times() rules.Times { return rules.Times{TTL: o.TTL, Margin: o.Margin} }

// parse reads the URL of a server, which may lack its scheme.
func parse(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	return url.Parse(server)
}

// shown returns the servers without credentials.
func (o Options) shown() string {
	var all []string
	for _, s := range o.Servers {
		if u, err := parse(s); err == nil {
			all = append(all, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(all, ", ")
}

// connection returns the options of the connection. It buffers nothing for a server that cannot be reached: a write
// that is sent long after its call would take a device for no caller.
func (o Options) connection(timeout time.Duration) []nats.Option {
	return append([]nats.Option{
		nats.Name("ptyctl node " + o.Node),
		nats.Timeout(timeout),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // credentials may be replaced while the servers run
		nats.ReconnectWait(min(o.times().Again(), time.Second)),
		nats.ReconnectJitter(o.times().Again()/2, o.times().Again()/2),
		nats.PingInterval(o.times().Every()),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(o.times().Every()),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Logger.Warn("NATS connection", "node", o.Node, "error", o.scrub(err.Error()))
		}),
	}, o.NATS...)
}

// scrub replaces the credentials of the servers' URLs in a text.
func (o Options) scrub(text string) string {
	for _, s := range o.Servers {
		u, err := parse(s)
		if err != nil || u.User == nil {
			continue
		}
		text = strings.ReplaceAll(text, u.User.String()+"@", "")
		if password, ok := u.User.Password(); ok && password != "" {
			text = strings.ReplaceAll(text, password, "***")
		} else if name := u.User.Username(); name != "" { // a token
			text = strings.ReplaceAll(text, name, "***")
		}
	}
	return text
}
