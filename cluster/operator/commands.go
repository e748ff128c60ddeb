package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ptyctl/cluster/join"
	"ptyctl/cluster/proof"
	"ptyctl/config"
	"ptyctl/internal/app"
	"ptyctl/internal/cli"
	"ptyctl/internal/commands"
)

// Commands returns the commands of the program.
func Commands() []*cli.Command {
	return []*cli.Command{statusCommand(), drainCommand(), anchorsCommand()}
}

// patience is how long a command waits for the servers in all.
const patience = 10 * time.Second

// credentialsFlag names a file with credentials of an operator, which have rights that a node lacks.
func credentialsFlag() cli.Flag {
	return &cli.StringFlag{Name: "credentials", Usage: "credentials `FILE` of NATS, in place of the configuration's"}
}

// A site is a cluster, as a command reaches it.
type site struct {
	cfg    config.Config
	nc     *nats.Conn
	prover *proof.Prover // nil: nodes have no credentials

	mu     sync.Mutex
	denied []string // requests that the servers have refused because of the credentials
}

// heard takes an error of the connection.
func (s *site) heard(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := err.Error(); !slices.Contains(s.denied, text) {
		s.denied = append(s.denied, text)
	}
}

// refusals returns the requests that the servers have refused.
func (s *site) refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.denied)
}

// deniedInfo reports whether the servers have refused to describe a bucket, or to deliver any answer.
func (s *site) deniedInfo(bucket string) bool {
	return slices.ContainsFunc(s.refusals(), func(text string) bool {
		return strings.Contains(text, `STREAM.INFO.KV_`+bucket+`"`) || strings.Contains(text, `Subscription to "_INBOX.`)
	})
}

// errNoCluster is the error of a configuration without servers.
var errNoCluster = &app.ConfigError{Err: errors.New("the configuration names no cluster: set cluster.servers, or name another " +
	"file with --config")}

// reach connects to the servers of the configuration.
func reach(c *cli.Context) (*site, error) {
	cfg, err := commands.Config(c)
	if err != nil {
		return nil, err
	}
	if len(cfg.Cluster.Servers) == 0 {
		return nil, errNoCluster
	}
	if file := c.String("credentials"); file != "" {
		cfg.Cluster.CredentialsFile = file
	}
	prover, err := join.Prover(cfg.Cluster)
	if err != nil {
		return nil, &app.ConfigError{Err: err}
	}
	nc, err := join.Dial(cfg.Cluster, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	s := &site{cfg: cfg, nc: nc, prover: prover}
	nc.SetErrorHandler(s.heard)
	return s, nil
}

// explained adds the refusals of the servers to an error: a refused request has got no answer.
func (s *site) explained(err error) error {
	if all := s.refusals(); err != nil && len(all) > 0 {
		return fmt.Errorf("%w\nthe credentials do not suffice (%s): name others with --credentials", err, strings.Join(all, "; "))
	}
	return err
}

// within returns a context of a command.
func within(c *cli.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Context, patience)
}

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
