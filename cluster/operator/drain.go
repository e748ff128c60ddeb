package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ptyctl/cluster/admin"
	"ptyctl/cluster/join"
	"ptyctl/cluster/nodes"
	"ptyctl/internal/cli"
	"ptyctl/internal/commands"
	"ptyctl/internal/tty"
)

func drainCommand() *cli.Command {
	return &cli.Command{
		Name: "drain",
		Usage: "have a node take no new sessions, and end when its last one has ended; default the configuration's own node. " +
			"It may be repeated",
		ArgsUsage: "[NODE]",
		Flags: []cli.Flag{
			commands.ConfigFlag(), credentialsFlag(),
			&cli.BoolFlag{Name: "undo", Usage: "have it take new sessions again"},
			&cli.BoolFlag{Name: "wait", Usage: "end only when the node has left the cluster"},
			&cli.BoolFlag{Name: "json", Usage: "print the node's answer in JSON"},
		},
		Action: drain,
	}
}

// answerTime is how long a node may take to answer.
const answerTime = 5 * time.Second

func drain(c *cli.Context) error {
	args, err := commands.Arguments(c, 0, 1)
	if err != nil {
		return err
	}
	s, err := reach(c)
	if err != nil {
		return err
	}
	defer s.nc.Close()
	name := ""
	if len(args) > 0 {
		name = args[0]
	} else if name, err = s.cfg.Cluster.NodeName(); err != nil {
		return err
	}
	ctx, cancel := within(c)
	defer cancel()
	if err := s.there(ctx, name); err != nil {
		return s.explained(err)
	}
	// Followed from before the request: afterwards the node may be gone at any time.
	var follow *nodes.Registry
	if c.Bool("wait") && !c.Bool("undo") {
		if follow, err = nodes.Observe(ctx, join.Registry(s.nc, s.cfg.Cluster.Group, slog.New(slog.DiscardHandler))); err != nil {
			return err
		}
		defer follow.Close()
	}
	asking, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	answer, err := admin.Ask(asking, s.nc, s.cfg.Cluster.Group, name, admin.Request{Drain: !c.Bool("undo")})
	if err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	if c.Bool("json") {
		err = printJSON(c.App.Writer, answer)
	} else {
		_, err = fmt.Fprintln(c.App.Writer, described(answer))
	}
	if err != nil || follow == nil {
		return err
	}
	return gone(c.Context, follow, name)
}

// described says in words how a node is.
func described(a admin.Answer) string {
	switch {
	case !a.Draining:
		return "node " + a.Node + " takes new sessions"
	case a.Sessions == 0:
		return "node " + a.Node + " takes no new sessions, has none, and ends"
	}
	return fmt.Sprintf("node %s takes no new sessions, and ends when its last one has ended: %s left, %s of them",
		a.Node, tty.Count(a.Sessions, "session"), tty.Count(a.Consoles, "console"))
}

// there returns nil if a node can be expected to answer.
func (s *site) there(ctx context.Context, name string) error {
	all, err := nodes.Read(ctx, join.Registry(s.nc, s.cfg.Cluster.Group, nil))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(n nodes.Seen) bool { return n.Name == name })
	switch {
	case i < 0:
		known := make([]string, len(all))
		for i, n := range all {
			known[i] = n.Name
		}
		what := "no node is there"
		if len(known) > 0 {
			what = "these are: " + strings.Join(known, ", ")
		}
		return fmt.Errorf("there is no node %q in group %s, or it has ended; %s", name, s.cfg.Cluster.Group, what)
	case all[i].State != nodes.Live:
		return fmt.Errorf("node %s is silent since %v: it was killed, is stopped, or is cut off from the NATS servers",
			name, all[i].Age.Round(time.Second))
	}
	return nil
}

// errSilent is the end of --wait for a node that has not left.
var errSilent = errors.New("it has become silent and has not left: it was killed, is stopped, or is cut off")

// gone waits until a node has left.
func gone(ctx context.Context, r *nodes.Registry, name string) error {
	began := r.Lookup(name).Started
	for {
		changed := r.Changed()
		switch n := r.Lookup(name); {
		case n.State == nodes.Unknown, !n.Started.Equal(began): // or has been started again
			return nil
		case n.State == nodes.Silent:
			return fmt.Errorf("node %s: %w", name, errSilent)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
