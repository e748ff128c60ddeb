package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ptyctl/fleet"
	"ptyctl/fleet/batch"
	"ptyctl/fleet/groups"
	"ptyctl/fleet/saved"
	"ptyctl/internal/bufpipe"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/sshx"
	"ptyctl/term"
)

// A network has SSH servers in memory, at 192.0.2.1 and the following addresses.
type network struct {
	t     *testing.T
	home  string
	known []string

	mu    sync.Mutex // guards the following
	serve map[string]func(net.Conn)
	dials map[string]int
	ran   []string // hosts, in the order in which they got a command
	busy  int
	most  int // commands at a time
}

func address(i int) string { return fmt.Sprintf("192.0.2.%d", i) }

// newNetwork makes hosts 1 to n, which print the result of answer. If answer is nil, the command decides about the
// exit code and the output.
func newNetwork(t *testing.T, n int) *network {
	w := &network{t: t, home: t.TempDir(), serve: make(map[string]func(net.Conn)), dials: make(map[string]int)}
	for i := 1; i <= n; i++ {
		w.add(i, sshserver.Config{NoAuth: true}, true)
	}
	return w
}

// add adds host i. Its key is on record if known.
func (w *network) add(i int, c sshserver.Config, known bool) *sshserver.Server {
	w.t.Helper()
	host := address(i)
	if c.Handler == nil {
		c.Handler = func(ctx context.Context, r *sshserver.Request) sshserver.Exit { return w.run(ctx, host, r) }
	}
	c.Dial = w.dial
	srv, err := sshserver.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = srv.Close() })
	w.mu.Lock()
	w.serve[host+":22"] = srv.ServeConn
	w.mu.Unlock()
	if known {
		w.record(host, srv.HostKey())
	}
	return srv
}

// record adds a line to known_hosts.
func (w *network) record(host string, key ssh.PublicKey) {
	w.known = append(w.known, knownhosts.Line([]string{host}, key))
	if err := os.MkdirAll(filepath.Join(w.home, ".ssh"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.home, ".ssh/known_hosts")
	if err := os.WriteFile(path, []byte(strings.Join(w.known, "\n")+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *network) dial(_ context.Context, _, at string) (net.Conn, error) {
	w.mu.Lock()
	w.dials[at]++
	serve := w.serve[at]
	w.mu.Unlock()
	if serve == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := bufpipe.New(0)
	go serve(far)
	return near, nil
}

// run is the shell of a host: "exit N", "sleep D", "echo $SHELL", and "odd HOST" that fails on that host alone; all others
// print "same".
func (w *network) run(ctx context.Context, host string, r *sshserver.Request) sshserver.Exit {
	word, rest, _ := strings.Cut(r.Command, " ")
	if r.Command == "echo $SHELL" {
		_, _ = io.WriteString(r.Stdout, "/bin/bash\n")
		return sshserver.Exit{}
	}
	w.mu.Lock()
	w.ran = append(w.ran, host)
	w.busy++
	w.most = max(w.most, w.busy)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.busy--
		w.mu.Unlock()
	}()
	switch word {
	case "odd":
		if rest == host {
			_, _ = io.WriteString(r.Stderr, "it is odd\n")
			return sshserver.Exit{Status: 3}
		}
	case "sleep":
		d, _ := time.ParseDuration(rest)
		select {
		case <-time.After(d):
		case s := <-r.Signals:
			return sshserver.Exit{Signal: s}
		case <-ctx.Done():
		}
	case "flood":
		chunk := make([]byte, 1<<20)
		for range 8 {
			if _, err := r.Stdout.Write(chunk); err != nil {
				break
			}
		}
	}
	_, _ = io.WriteString(r.Stdout, "same\n")
	return sshserver.Exit{}
}

// fleets makes the runs of a process on the network.
func (w *network) fleets(c fleet.Config) *fleet.Fleets {
	n := sshx.NewNetwork(sshx.Options{
		Logger: leaktest.Log(w.t), HomeDir: w.home, NoConfig: true, KnownHostsPath: filepath.Join(w.home, ".ssh/known_hosts"),
		IdentityAgent: "none", KeepaliveInterval: -1, Dial: w.dial,
	})
	c.Dial, c.Judge = n.OpenShell, n.Judge
	c.Logger = leaktest.Log(w.t)
	f := fleet.New(c)
	w.t.Cleanup(f.Close)
	return f
}

// hosts are the hosts from first to last.
func hosts(first, last int) (list []fleet.Host) {
	for i := first; i <= last; i++ {
		list = append(list, fleet.Host{
			Label: address(i), Target: term.Target{Protocol: "ssh", Host: address(i), User: "u"},
		})
	}
	return list
}

// finish runs r and waits for its end.
func finish(t *testing.T, f *fleet.Fleets, r fleet.Request) *fleet.Run {
	t.Helper()
	run, err := f.Run(t.Context(), r)
	if err != nil {
		t.Fatalf("Run(%q) = %v, want a run", r.Command, err)
	}
	<-run.Done()
	leaktest.Output(t, "report", run.Report(groups.Limits{}).Text())
	return run
}

// want checks the counts of a run that is over.
func want(t *testing.T, run *fleet.Run, c fleet.Counts) {
	t.Helper()
	if got := run.Counts(); got != c {
		t.Errorf("%q: counts %+v, want %+v", run.Command(), got, c)
		for _, label := range run.Labels() {
			t.Logf("%s: %+v", label, run.Result(label))
		}
	}
}

func inBubble(t *testing.T, n int, f func(t *testing.T, w *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newNetwork(t, n)) })
}

// One call runs a command everywhere, and each host's own output stays readable.
func TestRun(t *testing.T) {
	inBubble(t, 20, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{})
		run := finish(t, f, fleet.Request{Hosts: hosts(1, 20), Command: "odd 192.0.2.7"})
		want(t, run, fleet.Counts{All: 20, OK: 19, Failed: 1})
		if w.most > batch.DefaultParallel {
			t.Errorf("%d commands at a time, want at most %d", w.most, batch.DefaultParallel)
		}
		out, errs := run.Streams("192.0.2.7")
		if got := string(errs.From(0, 100).Data); got != "it is odd\n" || out.Total() != 0 || run.Result("192.0.2.7").Exit.Code != 3 {
			t.Errorf("192.0.2.7 has said %q, %+v; want its stderr and exit 3", got, run.Result("192.0.2.7"))
		}
		if again := run.Again(); len(again) != 1 || again[0].Label != "192.0.2.7" {
			t.Errorf("Again = %+v, want 192.0.2.7 alone", again)
		}
		if got, err := f.Get(t.Context(), run.ID()); got != run || err != nil {
			t.Errorf("Get(%s) = %v, %v; want the run", run.ID(), got, err)
		}
		if _, err := f.Get(term.WithActor(t.Context(), term.Actor{Transport: "http"}), run.ID()); !errors.Is(err, term.NotFound) {
			t.Errorf("Get by another principal = %v, want NOT_FOUND", err)
		}
	})
}

// Hosts without an exit code are reported by reason, and none of them delays the others.
func TestLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *network) {
		hang := func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
			_, _ = io.WriteString(r.Stdout, "begun\n")
			<-ctx.Done()
			return sshserver.Exit{}
		}
		w.add(4, sshserver.Config{NoAuth: true, Handler: hang}, true)
		w.add(5, sshserver.Config{Passwords: map[string]string{"u": leaktest.Secret(t, "fleet-word-1138")}}, true)
		w.record(address(7), w.add(6, sshserver.Config{NoAuth: true}, true).HostKey())
		w.add(7, sshserver.Config{NoAuth: true}, false) // its key is another one than that on record
		var conn net.Conn
		dies := w.add(8, sshserver.Config{NoAuth: true, Handler: func(ctx context.Context, _ *sshserver.Request) sshserver.Exit {
			_ = conn.Close()
			<-ctx.Done()
			return sshserver.Exit{}
		}}, true)
		w.serve[address(8)+":22"] = func(c net.Conn) {
			conn = c
			dies.ServeConn(c)
		}
		w.add(9, sshserver.Config{NoAuth: true, Faults: sshserver.Faults{StallBanner: true}}, true)
		w.add(10, sshserver.Config{NoAuth: true, Faults: sshserver.Faults{NoExitStatus: true}}, true)
		w.add(11, sshserver.Config{NoAuth: true, Faults: sshserver.Faults{RefuseExec: true}}, true)
		delete(w.serve, address(6)+":22") // nothing listens there

		run := finish(t, w.fleets(fleet.Config{ConnectTimeout: 5 * time.Second}), fleet.Request{
			Hosts: hosts(1, 11), Command: "id", Timeout: 10 * time.Second,
		})
		want(t, run, fleet.Counts{All: 11, OK: 3, Lost: 8, Asks: 1})
		for i, tt := range map[int]struct {
			code, reason string
			reached      bool
		}{
			4:  {"timeout", "no end within 10s, may still run", true},
			5:  {"login_asks", "asks (password)", false},
			6:  {"connect_failed", "never reached: tcp: connection refused", false},
			7:  {"hostkey_mismatch", "never reached: known_hosts has another key", false},
			8:  {"connection_lost", "midway: exit code unknown", true},
			9:  {"connect_timeout", "never reached: ", false},
			10: {"no_status", "without an exit status", true},
			11: {"unsupported", "reached, did not begin: ", true},
		} {
			got := run.Result(address(i))
			if got.State != fleet.Lost || got.Code != tt.code || !strings.Contains(got.Reason, tt.reason) || got.Reached != tt.reached {
				t.Errorf("%s: %+v; want %s, %q, reached %t", address(i), got, tt.code, tt.reason, tt.reached)
			}
		}
		if out, _ := run.Streams(address(4)); string(out.From(0, 100).Data) != "begun\n" {
			t.Errorf("the output of a command that did not end is %q, want what it has said", out.From(0, 100).Data)
		}
		if took := run.Took(); took > 14*time.Second {
			t.Errorf("the run took %v, want the 10 s of the slowest command and the time to stop it", took)
		}
		if n := dialsOf(w, 7); n != 1 {
			t.Errorf("the host with another key was connected to %d times, want once", n)
		}
	})
}

func dialsOf(w *network, i int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dials[address(i)+":22"]
}

// A rule that refuses one host keeps the run from all, unless such hosts are to be left out.
func TestRefused(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *network) {
		w.add(6, sshserver.Config{NoAuth: true}, false) // no key on record
		var seen diary
		f := w.fleets(fleet.Config{Observers: []term.Observer{&seen}, Gate: func(_ context.Context, a term.Action) (term.Ruling, error) {
			if a.Host == address(2) && a.Verb == term.VerbOpen || a.Host == address(3) && a.Verb == term.VerbExec {
				return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "a rule forbids it", Facts: term.Facts{term.Denial{Rule: "rule 7"}}}
			}
			return term.Ruling{}, nil
		}})
		_, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 6), Command: "id"})
		refused, ok := errors.AsType[*fleet.RefusedError](err)
		if !ok || len(refused.Hosts) != 3 || refused.All != 6 || !errors.Is(err, term.PolicyDenied) ||
			term.FactOf[term.Denial](err).Rule != "rule 7" {
			t.Fatalf("Run = %v, want a refusal of 3 of 6 hosts by rule 7", err)
		}
		if len(w.dials) != 0 || len(seen.refused()) != 3 {
			t.Errorf("a refused run has made connections %v and %d refusals on record, want none and 3", w.dials, len(seen.refused()))
		}
		run := finish(t, f, fleet.Request{Hosts: hosts(1, 6), Command: "id", SkipRefused: true})
		want(t, run, fleet.Counts{All: 6, OK: 3, Refused: 3})
		for _, i := range []int{2, 3, 6} {
			if n := dialsOf(w, i); n != 0 {
				t.Errorf("%s is refused, and was connected to %d times", address(i), n)
			}
		}
		if got := run.Result(address(6)); got.Code != "hostkey_unknown" {
			t.Errorf("a host without a key on record: %+v, want hostkey_unknown", got)
		}
		if _, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(2, 2), Command: "id", SkipRefused: true}); !errors.Is(err, term.PolicyDenied) {
			t.Errorf("Run on a refused host alone = %v, want POLICY_DENIED", err)
		}
	})
}

// asks is a Gate that wants a person's consent for a command, as package policy does.
func asks(command string) term.Gate {
	return func(ctx context.Context, a term.Action) (term.Ruling, error) {
		c := term.Consent{Rule: "ask 1", Protocol: a.Protocol, Host: a.Host, User: a.User, Text: a.Command}
		if given := term.ConsentFrom(ctx); a.Verb != term.VerbExec || a.Command != command || given != nil && *given == c {
			return term.Ruling{}, nil
		}
		return term.Ruling{}, &term.Error{Kind: term.PolicyDenied, Msg: "a person must agree", Facts: term.Facts{term.Denial{Rule: "ask 1", Consent: &c}}}
	}
}

// A person is asked once, about all hosts, and their answer is for this run alone.
func TestConsent(t *testing.T) {
	inBubble(t, 40, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{Gate: asks("reboot")})
		r := fleet.Request{Hosts: hosts(1, 3), Command: "reboot"}
		_, err := f.Run(t.Context(), r)
		wanted := term.FactOf[term.Denial](err).Consent
		if wanted == nil || wanted.Host != "192.0.2.1, 192.0.2.2, 192.0.2.3" || wanted.Text != "reboot" {
			t.Fatalf("Run = %v, which asks for %+v; want the consent to reboot of three hosts", err, wanted)
		}
		if len(w.dials) != 0 {
			t.Errorf("connections %v before the consent, want none", w.dials)
		}
		ctx := term.WithConsent(t.Context(), *wanted)
		run, err := f.Run(ctx, r)
		if err != nil {
			t.Fatalf("Run with the consent = %v, want a run", err)
		}
		<-run.Done()
		want(t, run, fleet.Counts{All: 3, OK: 3})
		for name, other := range map[string]fleet.Request{
			"more hosts":  {Hosts: hosts(1, 4), Command: "reboot"},
			"other hosts": {Hosts: hosts(2, 4), Command: "reboot"},
		} {
			if _, err := f.Run(ctx, other); term.FactOf[term.Denial](err).Consent == nil {
				t.Errorf("%s with the consent to three = %v, want another question", name, err)
			}
		}
		if _, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 31), Command: "reboot"}); !errors.Is(err, term.PolicyDenied) ||
			term.FactOf[term.Denial](err).Consent != nil {
			t.Errorf("Run on 31 hosts = %v, want a denial that no person is asked about", err)
		}
		if n := len(w.ran); n != 3 {
			t.Errorf("%d commands have run, want the 3 that were agreed to", n)
		}
	})
}

// Canaries run first, and no other host after one has failed.
func TestCanary(t *testing.T) {
	inBubble(t, 6, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{})
		run := finish(t, f, fleet.Request{Hosts: hosts(1, 6), Command: "odd 192.0.2.1", Rules: batch.Rules{Canary: 1}})
		want(t, run, fleet.Counts{All: 6, Failed: 1, NotRun: 5})
		if !slices.Equal(w.ran, []string{"192.0.2.1"}) || run.Stopped() != "a canary failed" || len(w.dials) != 1 {
			t.Errorf("hosts %v ran, connections %v, stopped %q; want the canary alone", w.ran, w.dials, run.Stopped())
		}
		if got := len(run.Again()); got != 6 {
			t.Errorf("Again = %d hosts, want the one that failed and those that were not run", got)
		}
	})
}

// A run that is canceled or times out stops its commands and begins no more.
func TestStopped(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{})
		r := fleet.Request{Hosts: hosts(1, 5), Command: "sleep 1h", Rules: batch.Rules{MaxParallel: 2}, Timeout: 2 * time.Hour}
		run, err := f.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if c := run.Counts(); c.Running != 2 || c.Waiting != 3 {
			t.Errorf("after a minute: %+v, want 2 running, 3 waiting", c)
		}
		if err := run.Cancel(t.Context()); err != nil {
			t.Fatalf("Cancel = %v, want no error", err)
		}
		<-run.Done()
		want(t, run, fleet.Counts{All: 5, Lost: 2, NotRun: 3})
		if got := run.Result(address(1)); got.Code != "canceled" || got.Reason != "stopped" {
			t.Errorf("a canceled command: %+v, want canceled, stopped", got)
		}
		r.Deadline = 10 * time.Minute
		run = finish(t, f, r)
		want(t, run, fleet.Counts{All: 5, Lost: 2, NotRun: 3})
		if took := run.Took(); took < 10*time.Minute || took > 11*time.Minute || run.Stopped() != "the time for all hosts is over" {
			t.Errorf("a run with a deadline took %v, stopped %q; want 10 minutes", took, run.Stopped())
		}
	})
}

// The output of a flood takes no more memory than its share.
func TestFlood(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{OutputBytes: 1 << 20})
		run := finish(t, f, fleet.Request{Hosts: hosts(1, 4), Command: "flood"})
		want(t, run, fleet.Counts{All: 4, OK: 4})
		out, _ := run.Streams(address(2))
		last := out.From(out.Total()-5, 100)
		if out.Total() != 8<<20+5 || string(last.Data) != "same\n" || !last.EOF {
			t.Errorf("a flood of %d bytes ends with %+v; want 8 MiB and same", out.Total(), last)
		}
	})
}

// Jump hosts are connected to once for all hosts behind them.
func TestJump(t *testing.T) {
	inBubble(t, 11, func(t *testing.T, w *network) {
		w.add(1, sshserver.Config{NoAuth: true, AllowForward: true}, true)
		list := hosts(2, 11)
		for i := range list {
			list[i].Target.SSH.ProxyJump = "u@" + address(1)
		}
		run := finish(t, w.fleets(fleet.Config{}), fleet.Request{Hosts: list, Command: "id"})
		want(t, run, fleet.Counts{All: 10, OK: 10})
		if n := dialsOf(w, 1); n != 1 {
			t.Errorf("%d connections to the jump host, want 1", n)
		}
	})
}

// A diary keeps events.
type diary struct {
	mu  sync.Mutex
	all []term.Event
}

func (d *diary) Observe(e term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.Data = nil
	d.all = append(d.all, e)
}

func (d *diary) ObserveExec(e term.Event) { d.Observe(e) }

func (d *diary) refused() (list []term.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.all {
		if e.Refused != nil {
			list = append(list, e)
		}
	}
	return list
}

// Each host's actions are events like those of a session, with the id of the run.
func TestEvents(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, w *network) {
		var seen diary
		f := w.fleets(fleet.Config{Observers: []term.Observer{&seen}})
		ctx := term.WithActor(t.Context(), term.Actor{Transport: "stdio", Task: "t1"})
		run, err := f.Run(ctx, fleet.Request{Hosts: hosts(1, 2), Command: "id"})
		if err != nil {
			t.Fatal(err)
		}
		<-run.Done()
		by := make(map[string][]string)
		for _, e := range seen.all {
			by[e.Host] = append(by[e.Host], strings.TrimSpace(string(e.Verb)+" "+e.State))
			if e.Fleet != run.ID() || e.Session == "" || e.Actor.Task != "t1" && e.Verb != term.VerbExecOutput {
				t.Errorf("event %+v; want the id of the run, a session and the caller", e)
			}
		}
		events := []string{"open", "plan", "state open", "exec", "exec_output", "exec_end ended", "state closed"}
		for host, got := range by {
			if !slices.Equal(got, events) {
				t.Errorf("%s has the events %q, want %q", host, got, events)
			}
		}
		if len(by) != 2 {
			t.Errorf("events of %d hosts, want 2", len(by))
		}
	})
}

// A program that stops waits for the commands of its runs, which it stops.
func TestClose(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{})
		run, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 2), Command: "sleep 1h", Timeout: 2 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f.Close()
		want(t, run, fleet.Counts{All: 2, Lost: 2})
		if _, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 2), Command: "id"}); !errors.Is(err, term.Canceled) {
			t.Errorf("Run after Close = %v, want CANCELED", err)
		}
	})
}

// Hosts of all runs count against one limit, and those of a run that is over no more.
func TestMaxHosts(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{MaxHosts: 3})
		first, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 2), Command: "sleep 1m"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(t.Context(), fleet.Request{Hosts: hosts(1, 2), Command: "id"}); !errors.Is(err, term.LimitExceeded) {
			t.Errorf("Run on a 4th host = %v, want LIMIT_EXCEEDED", err)
		}
		<-first.Done()
		want(t, finish(t, f, fleet.Request{Hosts: hosts(1, 3), Command: "id"}), fleet.Counts{All: 3, OK: 3})
	})
}

// Two runs are compared host by host: the same change on several hosts is one group.
func TestChanges(t *testing.T) {
	inBubble(t, 4, func(t *testing.T, w *network) {
		f := w.fleets(fleet.Config{})
		before := finish(t, f, fleet.Request{Hosts: hosts(1, 4), Command: "id"})
		after := finish(t, f, fleet.Request{Hosts: hosts(1, 3), Command: "odd 192.0.2.2"})
		set, n := saved.Changes(before.Answers(), after.Answers(), groups.None)
		r := set.Report(groups.Limits{})
		if n != 4 || len(r.Groups) != 2 || r.Groups[0].N != 2 || r.Groups[0].Exit != 0 || r.Groups[0].Stdout.Text != "" {
			t.Fatalf("the changes of %d hosts are %+v; want two without any, and two others", n, r)
		}
		if g := r.Groups[1]; g.Exit != 1 || g.Hosts != "192.0.2.2" ||
			g.Stdout.Text != "exit 0 -> 3\n@@ 1\n-same\nstderr:\n@@ 1\n+it is odd" {
			t.Errorf("the host with a change: %+v; want its exit code and its lines", g)
		}
		if len(r.Failures) != 1 || r.Failures[0].Hosts != "192.0.2.4" || r.Failures[0].Reason != "not in the run after" {
			t.Errorf("the host without an answer: %+v; want not in the run after", r.Failures)
		}
	})
}
