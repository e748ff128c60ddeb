package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/config"
	"ptyctl/devlock"
	"ptyctl/internal/app"
)

// write writes a file of a test, and returns its path.
func write(tb testing.TB, name string, text []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// TestCredentialsAndTLS: a node joins servers that want credentials and a certificate, and no others' mistakes show a
// secret.
func TestCredentialsAndTLS(t *testing.T) {
	cert, key := natstest.Certificate(t, nil)
	other, _ := natstest.Certificate(t, nil)
	accounts := natstest.NewAccounts(t)
	credentials := accounts.Credentials(t, nil, nil)
	lines := accounts.Lines + fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", cert, key, cert)
	server := natstest.StartWith(t, 1, lines)[0]
	const secret = "SUAHUNTER2HUNTER2HUNTER2HUNTER2HUNTER2HUNTER2HUNTER2HUNTER2"
	broken := write(t, "broken.creds", []byte("-----BEGIN USER NKEY SEED-----\n"+secret+"\n------END USER NKEY SEED------\n"))
	whole := config.Cluster{
		Servers: []string{server.URL}, Node: "a", Group: "test", LeaseTTL: 2 * time.Second,
		CredentialsFile: credentials, TLSCAFile: cert, TLSCertFile: cert, TLSKeyFile: key,
	}
	for name, c := range map[string]struct {
		change func(c *config.Cluster)
		want   string
		wrong  bool // the configuration is
	}{
		"joins":              {func(*config.Cluster) {}, "", false},
		"no credentials":     {func(c *config.Cluster) { c.CredentialsFile = "" }, "node a does not join its cluster: ", false},
		"broken credentials": {func(c *config.Cluster) { c.CredentialsFile = broken }, "node a does not join its cluster: ", false},
		"no certificate":     {func(c *config.Cluster) { c.TLSCertFile, c.TLSKeyFile = "", "" }, "node a does not join its cluster: ", false},
		"another authority":  {func(c *config.Cluster) { c.TLSCAFile = other }, "certificate signed by unknown authority", false},
		"no key":             {func(c *config.Cluster) { c.TLSKeyFile = cert }, "cluster.tls_cert_file, tls_key_file: ", true},
		"no authority":       {func(c *config.Cluster) { c.TLSCAFile = credentials }, "holds no certificate in PEM form", true},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg config.Config
			cfg.Cluster = whole
			c.change(&cfg.Cluster)
			n, err := Cluster(t.Context(), cfg, slog.New(slog.DiscardHandler), "test")
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				l, err := n.Devices().Acquire(t.Context(), "rack1", devlock.Owner{Session: "s1"})
				if err != nil || l.Owner().Node != "a" || n.Node() != "a" {
					t.Errorf("Acquire = %+v, %v; want it for node a", l, err)
				}
				if err := n.Close(context.Background()); err != nil {
					t.Errorf("Close = %v", err)
				}
				return
			}
			if err == nil {
				_ = n.Close(context.Background())
				t.Fatal("joined, want an error")
			}
			if !strings.Contains(err.Error(), c.want) || errors.As(err, new(*app.ConfigError)) != c.wrong ||
				strings.Contains(err.Error(), "HUNTER2") {
				t.Errorf("Cluster = %v, want %q and no secret", err, c.want)
			}
		})
	}
}
