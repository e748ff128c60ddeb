package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"ptyctl/internal/lazyregexp"
)

// nodeName matches the name of a node: it is part of session ids, of keys and of subjects.
var nodeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)

// nodeForm describes such a name in messages.
const nodeForm = "up to 32 letters, digits and dashes, of which the first is no dash"

// NodeName returns the name of this machine in its cluster: Node, or else the first part of the machine's name. The
// error says what to do if that is not a valid name.
func (c Cluster) NodeName() (string, error) {
	if c.Node != "" {
		return c.Node, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the name of this machine is not known (%w); set cluster.node", err)
	}
	host, _, _ = strings.Cut(host, ".")
	if !nodeName.MatchString(host) {
		return "", fmt.Errorf("the name of this machine is %s, which is no name of a node; set cluster.node to %s", show(host), nodeForm)
	}
	return host, nil
}

// node declares the name of a node; the default is "".
func node(p *string, path, doc string) row {
	r := text(p, path, "", doc)
	r.Form = nodeForm + ", or leave it empty"
	return r.checked(func(text string) error {
		if !nodeName.MatchString(text) {
			return instead(text, r.Form)
		}
		return nil
	})
}

// groupName matches the name of a group: it is part of the names of buckets, and a token of subjects.
var groupName = lazyregexp.New(`^[A-Za-z0-9_-]{1,32}$`)

// nodeGroup declares the name of a group.
func nodeGroup(p *string, path, def, doc string) row {
	r := text(p, path, def, doc)
	r.Form = "up to 32 letters, digits, dashes and underscores"
	set := r.set
	r.set = func(text []string) error {
		if !groupName.MatchString(text[0]) {
			return instead(text[0], r.Form)
		}
		return set(text)
	}
	return r
}

// natsServers declares a list of URLs of NATS servers. No message shows a URL with a password.
func natsServers(p *[]string, path, doc string) row {
	*p = nil
	const form = "a list of URLs, such as nats://nats1:4222 or tls://nats1:4222"
	k := Key{Path: path, Type: TypeStrings, Default: "[]", Form: form, Doc: doc}
	return newRow(k, func(text []string) error {
		for _, t := range text {
			u, err := url.Parse(t)
			switch {
			case err == nil && u.User != nil, err != nil && strings.Contains(t, "@"):
				return errors.New("holds a user or a password, which would be shown; name a file of NATS credentials in " +
					"cluster.credentials_file")
			case err != nil, u.Scheme != "nats" && u.Scheme != "tls", u.Hostname() == "", u.Path != "", u.RawQuery != "", hasControl(t):
				return fmt.Errorf("holds %s; give %s", show(t), form)
			}
		}
		*p = slices.Clone(text)
		return nil
	})
}

// nodeLabel matches a label of a node.
var nodeLabel = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}=[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// nodeLabels declares a list of labels, each with a name of its own.
func nodeLabels(p *[]string, path, doc string) row {
	*p = nil
	k := Key{Path: path, Type: TypeStrings, Default: "[]", Form: "a list of NAME=value", Doc: doc}
	return newRow(k, func(text []string) error {
		seen := make(map[string]bool)
		for _, t := range text {
			name, _, _ := strings.Cut(t, "=")
			switch {
			case !nodeLabel.MatchString(t):
				return fmt.Errorf("holds %s; give a list of NAME=value, each of up to 63 letters, digits, dots, dashes and "+
					"underscores, such as site=fra", show(t))
			case seen[name]:
				return fmt.Errorf("holds two values of %s; give one", show(name))
			}
			seen[name] = true
		}
		*p = slices.Clone(text)
		return nil
	})
}

// clusterRows declares the keys of [cluster].
func clusterRows(c *Config, home string) []row {
	return []row{
		natsServers(&c.Cluster.Servers, "cluster.servers",
			"The NATS servers that join this machine to others; empty joins none. A file that sets it is for the program "+
				"ptyctl-cluster."),
		path(&c.Cluster.CredentialsFile, home, "cluster.credentials_file",
			"A file of NATS credentials (.creds) of this node."),
		node(&c.Cluster.Node, "cluster.node",
			"The name of this machine among the nodes, which no other has; empty takes the first part of the machine's name."),
		nodeGroup(&c.Cluster.Group, "cluster.group", "ptyctl",
			"The name of the nodes that belong together; their subjects and buckets begin with it."),
		nodeLabels(&c.Cluster.Labels, "cluster.labels",
			"What is said of this node, such as site=fra, so that sessions can be opened near their hosts."),
		millis(&c.Cluster.LeaseTTL, "cluster.lease_ttl_ms", 30*time.Second, 2*time.Second, time.Hour,
			"After nearly twice this time without a renewal another node may have a console; all nodes need the same, and it must be "+
				"longer than the servers take to elect a leader."),
		boolean(&c.Cluster.EntryOnly, "cluster.entry_only", false,
			"This node takes clients and passes their calls on, but has no sessions itself: all new ones go to other nodes."),
		words(&c.Cluster.Place, "cluster.place",
			"Which hosts and devices are served from which nodes: each entry has a label of nodes and a pattern, such as "+
				"site=fra@*.fra.example.net. The first that fits counts."),
		integer(&c.Cluster.MaxSessionsPerHost, "cluster.max_sessions_per_host", 0, 0, 10000,
			"Most sessions of all nodes with one host and port, or through it as a jump host; 0 is no limit."),
		integer(&c.Cluster.MaxSessionsPerToken, "cluster.max_sessions_per_token", 0, 0, 10000,
			"Most sessions of all nodes that one token of the HTTP server has open; 0 is no limit."),
		path(&c.Cluster.TLSCAFile, home, "cluster.tls_ca_file",
			"A PEM file with the certificate authorities of the NATS servers; empty uses the system's."),
		path(&c.Cluster.TLSCertFile, home, "cluster.tls_cert_file",
			"A PEM file with the certificate of this node, for NATS servers that ask for one."),
		path(&c.Cluster.TLSKeyFile, home, "cluster.tls_key_file",
			"A PEM file with the key of that certificate."),
	}
}

// compareCluster checks that the keys of a node are complete, and that none is set without a cluster.
func (l *loader) compareCluster(c *Cluster) {
	const servers, cert, key = "cluster.servers", "cluster.tls_cert_file", "cluster.tls_key_file"
	if len(c.Servers) == 0 {
		for _, other := range []struct {
			key string
			set bool
		}{
			{"cluster.credentials_file", c.CredentialsFile != ""},
			{"cluster.node", c.Node != ""},
			{"cluster.labels", len(c.Labels) > 0},
			{"cluster.entry_only", c.EntryOnly},
			{"cluster.place", len(c.Place) > 0},
			{"cluster.max_sessions_per_host", c.MaxSessionsPerHost != 0},
			{"cluster.max_sessions_per_token", c.MaxSessionsPerToken != 0},
			{"cluster.tls_ca_file", c.TLSCAFile != ""},
			{cert, c.TLSCertFile != ""},
			{key, c.TLSKeyFile != ""},
		} {
			if other.set {
				l.clash(other.key, servers, other.key+" is set, but no "+servers+": no cluster is joined; set it, or leave "+other.key+" out")
				return
			}
		}
		return
	}
	if (c.TLSCertFile == "") != (c.TLSKeyFile == "") {
		l.clash(cert, key, "a certificate of this node needs both "+cert+" and "+key+"; set both, or neither")
	}
}
