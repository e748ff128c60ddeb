package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/config"
	"ptyctl/internal/app"
)

// example returns a file of packaging/cluster.
func example(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("../../../packaging/cluster", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestExampleNode: the configuration of the example is one that a node can run with, on its three servers.
func TestExampleNode(t *testing.T) {
	cfg, warnings, err := config.Load(config.Source{Path: "../../../packaging/cluster/node.toml"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("node.toml: %v, %v", err, warnings)
	}
	if err := app.CheckCluster(cfg.Cluster); err == nil || !strings.Contains(err.Error(), "/etc/ptyctl/") {
		t.Errorf("node.toml: %v, want nothing wrong but the files that are not here", err)
	}
	routes := regexp.MustCompile(`nats-route://([a-z0-9.-]+):`).FindAllStringSubmatch(example(t, "nats.conf"), -1)
	if len(cfg.Cluster.Servers) != 3 || len(routes) != 3 {
		t.Fatalf("node.toml names %q, and nats.conf %q", cfg.Cluster.Servers, routes)
	}
	for i, route := range routes {
		if want := "tls://" + route[1] + ":4222"; cfg.Cluster.Servers[i] != want {
			t.Errorf("server %d is %s, want %s", i, cfg.Cluster.Servers[i], want)
		}
	}
}

// TestExampleServer: nats-server takes the configuration of the example.
func TestExampleServer(t *testing.T) {
	dir := t.TempDir()
	cert, key := natstest.Certificate(t, []string{"nats-1.example.net"})
	text := strings.NewReplacer("/etc/nats/cert.pem", cert, "/etc/nats/key.pem", key, "/etc/nats/ca.pem", cert, "/var/lib/nats", dir).
		Replace(example(t, "nats.conf"))
	path := filepath.Join(dir, "nats.conf")
	for name, content := range map[string]string{path: text, filepath.Join(dir, "operator.conf"): natstest.NewAccounts(t).Lines} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := natstest.Check(t, path, "NATS_NAME=nats-1"); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if said, err := natstest.Check(t, path); err == nil {
		t.Errorf("without its name the server takes the configuration: %s", said)
	}
}

// A composed is a compose file, as far as the test reads it.
type composed struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Entrypoint  []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		DependsOn   []string `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// TestExampleCompose: the compose file has three servers that know each other, and three nodes that name them all.
func TestExampleCompose(t *testing.T) {
	var c composed
	if err := yaml.Unmarshal([]byte(example(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, k := range config.Keys() {
		known[k.Env] = true
	}
	var servers, nodes, ports []string
	for name, s := range c.Services {
		if !strings.HasPrefix(name, "nats-") {
			continue
		}
		servers = append(servers, name)
		i := slices.Index(s.Command, "--routes")
		if i < 0 || strings.Count(s.Command[i+1], "nats://nats-") != 3 || !slices.Contains(s.Command, "-js") || s.Command[1] != name {
			t.Errorf("%s is started with %q", name, s.Command)
		}
		if len(s.Ports) > 0 {
			t.Errorf("%s publishes %q: the servers have no accounts", name, s.Ports)
		}
		if volume, _, _ := strings.Cut(s.Volumes[0], ":"); volume != name || !hasKey(c.Volumes, volume) {
			t.Errorf("%s keeps its data in %q", name, s.Volumes)
		}
	}
	for name, s := range c.Services {
		if !strings.HasPrefix(name, "node-") {
			continue
		}
		nodes, ports = append(nodes, name), append(ports, s.Ports...)
		for variable := range s.Environment {
			if !known[variable] {
				t.Errorf("%s has the variable %s, which no key has", name, variable)
			}
		}
		if s.Environment["PTYCTL_CLUSTER_NODE"] != name || !slices.Equal(s.Entrypoint, []string{"/ptyctl-cluster"}) || s.Command[0] != "mcp" {
			t.Errorf("%s is started as %q %q with %v", name, s.Entrypoint, s.Command, s.Environment)
		}
		for _, server := range servers {
			if !strings.Contains(s.Environment["PTYCTL_CLUSTER_SERVERS"], "nats://"+server+":4222") || !slices.Contains(s.DependsOn, server) {
				t.Errorf("%s does not know %s", name, server)
			}
		}
	}
	slices.Sort(ports)
	if len(servers) != 3 || len(nodes) != 3 || len(slices.Compact(ports)) != 3 {
		t.Errorf("the compose file has %q and %q at %q, want three of each", servers, nodes, ports)
	}
	for _, p := range ports {
		if !strings.HasPrefix(p, "127.0.0.1:") {
			t.Errorf("port %s is published to other machines", p)
		}
	}
}

func hasKey(m map[string]any, key string) bool { _, ok := m[key]; return ok }

// TestExampleUnits: the units start the right programs, and do not restart a node that was drained.
func TestExampleUnits(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"ptyctl-cluster.service": {
			"ExecStart": "/usr/local/bin/ptyctl-cluster mcp --config /etc/ptyctl/node.toml", "Restart": "on-failure",
			"RestartPreventExitStatus": "2", "WantedBy": "multi-user.target",
		},
		"nats-server.service": {
			"ExecStart": "/usr/local/bin/nats-server -c /etc/nats/nats.conf", "Environment": "NATS_NAME=%H", "KillSignal": "SIGUSR2",
		},
	} {
		section, has := "", make(map[string]string)
		for line := range strings.Lines(example(t, name)) {
			switch line = strings.TrimSpace(line); {
			case line == "" || strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "["):
				if section = line; !slices.Contains([]string{"[Unit]", "[Service]", "[Install]"}, section) {
					t.Errorf("%s has the section %s", name, section)
				}
			default:
				key, value, found := strings.Cut(line, "=")
				if !found || section == "" || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(key) {
					t.Errorf("%s has the line %q", name, line)
				}
				has[key] = value
			}
		}
		for key, value := range want {
			if has[key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, has[key], value)
			}
		}
	}
}

// TestExampleBalancer: a request without an MCP session goes to a node that is ready, and one with a session goes to
// the session's node while that lives. Both backends have the same nodes, and each node has a certificate of its own
// name.
func TestExampleBalancer(t *testing.T) {
	ready, begun, found := strings.Cut(example(t, "haproxy.cfg"), "\nbackend begun\n")
	if !found {
		t.Fatal("haproxy.cfg has no backend for MCP sessions")
	}
	var nodes []string
	for _, n := range []string{"1", "2", "3"} {
		nodes = append(nodes, strings.ReplaceAll("server node-N node-N.example.net:8765 verifyhost node-N.example.net\n", "N", n))
	}
	for text, lines := range map[string][]string{
		ready: append([]string{
			"\nbackend ready\n", "use_backend begun if { req.hdr(Mcp-Session-Id) -m found }\n", "option redispatch 1\n",
			"option httpchk GET /readyz\n", "stick store-response res.hdr(Mcp-Session-Id)\n",
		}, nodes...),
		begun: append([]string{"option httpchk GET /healthz\n", "stick match req.hdr(Mcp-Session-Id) table ready\n"}, nodes...),
	} {
		for _, want := range lines {
			if !strings.Contains(text, want) {
				t.Errorf("haproxy.cfg has no line %q where it belongs", want)
			}
		}
	}
}
