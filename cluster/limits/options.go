package limits

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say where the counts are kept.
type Options struct {
	Conn  *nats.Conn // the caller's; it stays open, and should keep nothing for servers that cannot be reached
	Group string     // of nodes that share limits: the bucket is GROUP-limits; empty: "ptyctl"
	Node  string     // the name of this node, for errors; required

	TTL      time.Duration // after which the share of a dead process is given back: 2 s to 1 h; 0: 30 s
	Margin   time.Duration // by which a process stops to take before its share is given back; 0: TTL/6
	Timeout  time.Duration // longest time of a Take without an earlier deadline; 0: 2 s
	Replicas int           // of a bucket that is made; 0: 3 if the cluster has three servers or more, else 1

	Logger *slog.Logger // nil: slog.Default
}

var (
	groupPattern   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	nodePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)
	processPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}\.[A-Z0-9]{1,64}$`)
	whatPattern    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
)

// withDefaults returns o with every zero field replaced by its default, or says which field is wrong.
func (o Options) withDefaults() (Options, error) {
	o.Group = cmp.Or(o.Group, "ptyctl")
	o.TTL = cmp.Or(o.TTL, 30*time.Second)
	o.Margin = cmp.Or(o.Margin, o.TTL/6)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.Conn == nil:
		return o, errors.New("limits: Options.Conn is nil")
	case !groupPattern.MatchString(o.Group):
		return o, fmt.Errorf("limits: Options.Group is %.80q: it must be 1 to 64 letters, digits, hyphens and underscores", o.Group)
	case !nodePattern.MatchString(o.Node):
		return o, fmt.Errorf("limits: Options.Node is %.80q: it must be 1 to 32 letters, digits and hyphens", o.Node)
	case o.TTL < 2*time.Second || o.TTL > time.Hour: // a server counts the TTL of a message in seconds
		return o, fmt.Errorf("limits: Options.TTL is %v: it must be between 2s and 1h", o.TTL)
	case o.TTL%time.Second != 0:
		return o, fmt.Errorf("limits: Options.TTL is %v: it must be whole seconds", o.TTL)
	case o.Margin < 0 || o.Margin > o.TTL/2:
		return o, fmt.Errorf("limits: Options.Margin is %v: it must be at most half of the TTL, %v", o.Margin, o.TTL)
	case o.Timeout < 0 || o.Replicas < 0:
		return o, errors.New("limits: Options.Timeout and Options.Replicas must not be negative")
	}
	return o, nil
}

// every is the time from one renewal to the next.
func (o Options) every() time.Duration { return o.TTL / 6 }

// attempt is how long one answer is waited for.
func (o Options) attempt() time.Duration { return min(o.Timeout/4, time.Second) }

// graves is how long the servers keep the markers of processes and counts that are gone.
const graves = time.Minute

// bucket returns the name and the configuration of the bucket. It has no TTL: the keys of processes have their own.
func (o Options) bucket() (string, jetstream.KeyValueConfig) {
	return o.Group + "-limits", jetstream.KeyValueConfig{
		Description: "the limits over all nodes of ptyctl", Replicas: o.Replicas, LimitMarkerTTL: graves,
	}
}
