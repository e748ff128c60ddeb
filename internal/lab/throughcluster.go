package lab

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ClusterVariable makes the tests of a package use two nodes of a cluster: see ThroughCluster.
const ClusterVariable = "PTYCTL_TESTS_CLUSTER"

// The programs that this needs, which are of another module: see task test:cluster:mcp.
const (
	clusterProgramVariable = "PTYCTL_TESTS_CLUSTER_PROGRAM" // ptyctl-cluster
	natsProgramVariable    = "PTYCTL_TESTS_NATS_SERVER"     // nats-server
)

// ThroughCluster reports whether each server is two nodes of a cluster with the same configuration. The client is
// connected to one that has no sessions itself, and passes its calls on to the other. Program.PID is the other's.
var ThroughCluster = os.Getenv(ClusterVariable) != ""

// OneMachine are the tests of a package that are about one machine alone, each with the reason. They are left out if
// ThroughCluster. The TestMain of a package sets it.
var OneMachine map[string]string

// natsURL is where the server of NATS of these tests listens.
var natsURL string

// useCluster makes the program under test ptyctl-cluster, and starts a server of NATS. stop ends it.
func useCluster() (stop func(), err error) {
	if len(OneMachine) > 0 { // testing.M reads the command line later: a -skip there wins
		if err := flag.Set("test.skip", "^("+strings.Join(slices.Sorted(maps.Keys(OneMachine)), "|")+")$"); err != nil {
			return nil, err
		}
	}
	Binary = os.Getenv(clusterProgramVariable)
	PlainBinary = Binary
	server := os.Getenv(natsProgramVariable)
	if Binary == "" || server == "" {
		return nil, fmt.Errorf("%s=%s needs the paths of programs in %s and %s: use task test:cluster:mcp",
			ClusterVariable, os.Getenv(ClusterVariable), clusterProgramVariable, natsProgramVariable)
	}
	dir, err := os.MkdirTemp("", "ptyctl-nats-")
	if err != nil {
		return nil, err
	}
	// A port that is free now may be taken a moment later.
	for range 5 {
		end, failed := startNATS(server, dir)
		if err = failed; err == nil {
			return func() {
				end()
				os.RemoveAll(dir)
			}, nil
		}
	}
	os.RemoveAll(dir)
	return nil, err
}

// startNATS starts a server of NATS, and waits until it has JetStream.
func startNATS(program, dir string) (stop func(), err error) {
	ports := make([]string, 2)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		_, ports[i], _ = net.SplitHostPort(l.Addr().String())
		defer l.Close()
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program, "--addr", "127.0.0.1", "--port", ports[0], "--http_port", ports[1], "--jetstream",
		"--store_dir", dir, "--log", filepath.Join(dir, "log"))
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	for begin := time.Now(); time.Since(begin) < Patience; time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return nil, errors.New("the server of NATS has ended: was its port taken?")
		default:
		}
		answer, err := http.Get("http://127.0.0.1:" + ports[1] + "/healthz")
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			natsURL = "nats://127.0.0.1:" + ports[0]
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("the server of NATS has not started after %v", Patience)
}

// inCluster makes p the node that a client is connected to, and starts the one that has the sessions. Its configuration
// and arguments are those of p.
func (p *Program) inCluster(args []string) {
	p.TB.Helper()
	if !ThroughCluster || slices.Contains(args, "--daemon") {
		return
	}
	group := "PTYCTL_CLUSTER_GROUP=" + rand.Text()
	p.far = p.home.prepare(p.TB, farArguments(args), "PTYCTL_CLUSTER_SERVERS="+natsURL, group, "PTYCTL_CLUSTER_NODE=far")
	p.far.isFar = true
	p.far.begin()
	if !p.far.Log.WaitFor("this node answers the calls of the other nodes", p.far.Ended) {
		p.TB.Logf("the node with the sessions does not start:\n%s", p.far.Log) // as the test may want of the other, too
	}
	p.Cmd.Env = append(p.Cmd.Env, "PTYCTL_CLUSTER_SERVERS="+natsURL, group, "PTYCTL_CLUSTER_NODE=near", "PTYCTL_CLUSTER_ENTRY_ONLY=true")
}

// farArguments returns the arguments of a server without those about its clients.
func farArguments(args []string) (far []string) {
	for i := 0; i < len(args); i++ {
		if slices.Contains([]string{"--transport", "--listen"}, args[i]) {
			i++
			continue
		}
		far = append(far, args[i])
	}
	return append(far, "--transport", "stdio", "--log-level", "info")
}

// endFar ends the node that has the sessions, and waits for the ends of its programs.
func (p *Program) endFar() {
	p.TB.Helper()
	if p.far == nil || !p.far.running() {
		return
	}
	children := Descendants(p.TB, p.far.own)
	p.far.Stdin.Close()
	p.far.CheckEnd()
	for _, c := range children {
		awaitEnd(p.TB, "a program of the other node, "+c.Command+",", c.PID)
	}
}
