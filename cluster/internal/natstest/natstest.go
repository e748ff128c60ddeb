// Package natstest starts servers of NATS for tests. Each is a process of its own, on loopback, that the test ends.
//
// The program is nats-server of the version in go.mod: go tool builds it once and keeps it in the build cache.
package natstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// program returns the path of nats-server.
var program = sync.OnceValues(func() (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", "tool", "-n", "nats-server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go tool -n nats-server: %w\n%s", err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
})

// A Server is a process of nats-server.
type Server struct {
	Name    string
	URL     string // of clients
	place   Place
	port    int // of clients
	monitor string
	config  string
	log     string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// A Place is a machine on which a server runs, at an address of its own.
type Place interface {
	Address() string
	Start(cmd *exec.Cmd) error // as cmd.Start
}

// loopback is this machine.
type loopback struct{}

func (loopback) Address() string           { return "127.0.0.1" }
func (loopback) Start(cmd *exec.Cmd) error { return cmd.Start() }

// StartOn starts a server on each of several machines, which this process reaches. They know each other, and end with the
// test.
func StartOn(tb testing.TB, places []Place) []*Server {
	tb.Helper()
	var ports [][3]int
	for range places {
		ports = append(ports, [3]int{4222, 6222, 8222}) // no other program is there
	}
	all := launch(tb, places, ports, "")
	if err := await(all); err != nil {
		tb.Fatal(err)
	}
	return all
}

// Build builds nats-server, as the first Start does. It is for a test whose process has no network.
func Build(tb testing.TB) {
	tb.Helper()
	if _, err := program(); err != nil {
		tb.Fatal(err)
	}
}

// Start starts servers that know each other, with JetStream, and waits until they take calls. They end with the test.
func Start(tb testing.TB, n int) []*Server {
	tb.Helper()
	return StartWith(tb, n, "")
}

// StartWith is Start with more lines of configuration.
func StartWith(tb testing.TB, n int, more string) []*Server {
	tb.Helper()
	// A port that is free now may be taken a moment later.
	for range 5 {
		free := freePorts(tb, 3*n)
		var places []Place
		var ports [][3]int
		for i := range n {
			places, ports = append(places, loopback{}), append(ports, [3]int(free[3*i:]))
		}
		all := launch(tb, places, ports, more)
		err := await(all)
		if err == nil {
			return all
		}
		for _, s := range all {
			s.Kill()
			s.tail(tb)
		}
		if !errors.Is(err, errEnded) {
			tb.Fatal(err)
		}
	}
	tb.Fatal("no servers could listen")
	return nil
}

// launch starts servers with ports for clients, for each other and for monitors.
func launch(tb testing.TB, places []Place, ports [][3]int, more string) []*Server {
	tb.Helper()
	var routes []string
	for i, p := range places {
		routes = append(routes, fmt.Sprintf("nats-route://%s:%d", p.Address(), ports[i][1]))
	}
	var all []*Server
	dir := tb.TempDir()
	for i, p := range places {
		address := p.Address()
		s := &Server{
			Name: fmt.Sprintf("n%d", i+1), URL: fmt.Sprintf("nats://%s:%d", address, ports[i][0]), place: p, port: ports[i][0],
			monitor: fmt.Sprintf("http://%s:%d", address, ports[i][2]),
		}
		s.config, s.log = filepath.Join(dir, s.Name+".conf"), filepath.Join(dir, s.Name+".log")
		text := fmt.Sprintf(`server_name: %s
listen: "%s:%d"
http: "%s:%d"
log_file: %q
jetstream { store_dir: %q, max_mem: 64MB, max_file: 256MB }
`, s.Name, address, s.port, address, ports[i][2], s.log, filepath.Join(dir, s.Name)) + more
		if len(places) > 1 {
			// The servers hear soon that another is cut off, as those of packaging/cluster/nats.conf.
			text += fmt.Sprintf("cluster { name: test, ping_interval: \"5s\", ping_max: 2, listen: \"%s:%d\", routes: [%s] }\n", address, ports[i][1], strings.Join(routes, ", "))
		}
		if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
		s.Run(tb)
		all = append(all, s)
	}
	return all
}

// Run starts the process, again if it was killed.
func (s *Server) Run(tb testing.TB) {
	tb.Helper()
	path, err := program()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(path, "-c", s.config)
	if err := s.place.Start(cmd); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed
		close(ended)
	}()
	s.cmd, s.ended = cmd, ended
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if tb.Failed() {
			s.tail(tb)
		}
	})
}

// tail logs the end of the server's log.
func (s *Server) tail(tb testing.TB) {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return
	}
	tb.Logf("the log of %s ends with:\n%s", s.Name, text[max(0, len(text)-2000):])
}

// Kill ends the process with SIGKILL, and waits for that.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// PID returns the id of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Alive reports whether the process runs.
func (s *Server) Alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// errEnded is the error of a server that ends while it starts: one of its ports was taken.
var errEnded = errors.New("a server has ended")

// await waits until the servers take calls of JetStream.
func await(all []*Server) error {
	end := time.Now().Add(time.Minute)
	for _, s := range all {
		for {
			err := s.healthy()
			switch {
			case !s.Alive():
				return errEnded
			case err == nil:
			case time.Now().After(end):
				return fmt.Errorf("server %s does not start: %w", s.Name, err)
			default:
				time.Sleep(20 * time.Millisecond)
				continue
			}
			break
		}
	}
	return nil
}

// healthy returns nil once the server takes calls of JetStream. Another server may have got its port for monitors: it
// names its own port for clients.
func (s *Server) healthy() error {
	r, err := http.Get(s.monitor + "/varz")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var server struct{ Port int }
	if err := json.NewDecoder(r.Body).Decode(&server); err != nil {
		return err
	}
	if server.Port != s.port {
		return fmt.Errorf("its monitor is that of the server at port %d", server.Port)
	}
	health, err := http.Get(s.monitor + "/healthz")
	if err != nil {
		return err
	}
	defer health.Body.Close()
	if health.StatusCode != http.StatusOK {
		return errors.New(health.Status)
	}
	return nil
}

// URLs returns the addresses of the servers for clients.
func URLs(servers []*Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.URL)
	}
	return all
}

// Leader returns the server that leads a stream, as one that lives says.
func Leader(tb testing.TB, servers []*Server, stream string) *Server {
	tb.Helper()
	nc, err := nats.Connect(strings.Join(URLs(servers), ","), nats.NoReconnect())
	if err != nil {
		tb.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		var info struct {
			Cluster struct {
				Leader string `json:"leader"`
			} `json:"cluster"`
		}
		m, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, 200*time.Millisecond) // none answers while there is no leader
		if err == nil {
			err = json.Unmarshal(m.Data, &info)
		}
		for _, s := range servers {
			if err == nil && s.Name == info.Cluster.Leader {
				return s
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	tb.Fatalf("stream %s has no leader", stream)
	return nil
}

// freePorts returns ports that no one listens on now. They are below those that systems give to clients
// (ip_local_port_range), so that no client gets the port of a server that is away for a moment.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	const first, end = 10_000, 32_768
	var ports []int
	for range 100 * n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first)))
		if err != nil {
			continue
		}
		defer l.Close() // after all were found, so that they differ
		if ports = append(ports, l.Addr().(*net.TCPAddr).Port); len(ports) == n {
			return ports
		}
	}
	tb.Fatal("no ports of the loopback address are free")
	return nil
}
