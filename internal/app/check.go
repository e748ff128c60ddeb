package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"ptyctl/config"
	"ptyctl/fleet/nodes"
)

// Check finds errors that would keep a server from starting although each value of cfg is valid.
func Check(cfg config.Config) error {
	_, caErr := authorities("telnet.tls_ca_file", cfg.Telnet.TLSCAFile)
	_, rulesErr := NewPolicy(cfg)
	_, secretsErr := Secrets(cfg.Secret, nil)
	_, recipientsErr := recipients(cfg.Record)
	_, forwardErr := forwardPatterns(cfg)
	errs := []error{
		caErr,
		CheckToolsets(cfg),
		rulesErr,
		forwardErr,
		checkSerial(cfg),
		localSandbox(cfg.Local).Check(),
		recipientsErr,
		secretsErr,
		CheckCluster(cfg.Cluster),
	}
	if cfg.Server.Transport != config.TransportStdio {
		tokens, tokenErr := httpTokens(cfg.Server.HTTP)
		if tokenErr == nil {
			tokenErr = somebodyAnswers(cfg, tokens)
		}
		cert, certErr := certificate(cfg.Server.HTTP)
		if certErr == nil {
			certErr = inClearText(cfg.Server.HTTP, cert != nil)
		}
		errs = append(errs, tokenErr, certErr)
	}
	return errors.Join(errs...)
}

// CheckCluster finds errors that would keep this machine from joining its cluster, without asking a server.
func CheckCluster(c config.Cluster) error {
	if len(c.Servers) == 0 {
		return nil
	}
	_, nodeErr := c.NodeName()
	_, tlsErr := ClusterTLS(c)
	return errors.Join(nodeErr, tlsErr, readable("cluster.credentials_file", c.CredentialsFile))
}

// ClusterTLS returns the settings of TLS for the servers of a cluster; nil: nothing is configured, and a server may still
// ask for TLS.
func ClusterTLS(c config.Cluster) (*tls.Config, error) {
	if c.TLSCAFile == "" && c.TLSCertFile == "" {
		return nil, nil
	}
	roots, err := authorities("cluster.tls_ca_file", c.TLSCAFile)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if c.TLSCertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
		if err != nil {
			return nil, fmt.Errorf("cluster.tls_cert_file, tls_key_file: %w", err)
		}
		settings.Certificates = []tls.Certificate{cert}
	}
	return settings, nil
}

// readable returns the reason why the file that a key names cannot be read. It accepts an empty path.
func readable(key, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return f.Close()
}

// HostWarnings lists the groups and files of hosts that cannot be used. They do not keep a server from starting: an
// expression that needs one of them is refused when it is used.
func HostWarnings(ctx context.Context, cfg config.Config) []string {
	book := HostSources(cfg).Read(ctx)
	var list []string
	for _, s := range book.Sources() {
		if s.Error != "" {
			list = append(list, "hosts: "+s.Error)
		}
	}
	return append(list, wrongGroups(cfg, book)...)
}

// wrongGroups says which entries of [groups] cannot be used, and why.
func wrongGroups(cfg config.Config, book *nodes.Book) (list []string) {
	for _, g := range cfg.Groups {
		if _, err := book.Select([]string{"@groups:" + g.Name}, nodes.DefaultMost); err != nil {
			list = append(list, g.Where+": "+err.Error())
		}
	}
	return list
}
