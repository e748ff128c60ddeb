package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"reflect"
	"strings"

	"ptyctl/config"
	"ptyctl/sshx"
	"ptyctl/telnet"
	"ptyctl/term"
)

// telnetDialer makes the term.Dialer of Telnet. A target with SSH options is reached through the hosts that they
// name.
func telnetDialer(cfg config.Config, network *sshx.Network) (term.Dialer, error) {
	d := telnet.Dialer{
		Config: telnet.Config{
			Enter:  telnet.Enter(cfg.Telnet.Enter),
			Binary: telnet.BinaryPolicy(cfg.Telnet.Binary),
		},
		ConnectTimeout: cfg.Session.ConnectTimeout,
		SendUser:       cfg.Telnet.SendUsername,
	}
	for _, e := range cfg.Telnet.Environment {
		name, value, _ := strings.Cut(e, "=")
		d.Config.Env = append(d.Config.Env, term.EnvVar{Name: name, Value: value})
	}
	roots, err := authorities("telnet.tls_ca_file", cfg.Telnet.TLSCAFile)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t term.Target, p term.Prompter, approve term.Approve) (term.Transport, error) {
		d := d
		if !reflect.ValueOf(t.SSH).IsZero() {
			d.Dial = network.Through(t, p)
		}
		if t.Telnet.TLS.Enabled {
			d.TLS = &telnet.TLS{RootCAs: roots}
		}
		return d.Open(ctx, t, p, approve)
	}, nil
}

// authorities reads the certificates in the PEM file that a key of the configuration names; nil: the system decides which
// to trust.
func authorities(key, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give the path of a readable PEM file", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM form", key, path)
	}
	return pool, nil
}
