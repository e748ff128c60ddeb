package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/crypto/ssh"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/peers"
)

// The secrets that no node may give away.
const (
	planted    = "planted-word-1138"
	passphrase = "planted-phrase-1138"
	stored     = "planted-store-1138"
)

// The callers' tokens, by name.
var tokens = map[string]string{"one": strings.Repeat("one-1138-", 5), "two": strings.Repeat("two-1138-", 5)}

// serveTokens starts a node that serves callers with tokens, each of whom sees only its own sessions. It knows the key of f.
func serveTokens(tb testing.TB, name, url string, f far) *node {
	tb.Helper()
	text := lines(name, url, `[server.http]`, `isolate = true`, fmt.Sprintf(`tokens = "one:write:%s two:write:%s"`, tokens["one"], tokens["two"]),
		`[secret.lab-login]`, `source = "env:LAB_LOGIN"`, `hosts = ["127.0.0.1"]`, `[ssh]`,
		fmt.Sprintf(`known_hosts_path = %q`, f.known))
	log := new(logText)
	n := &node{
		process: &process{
			cmd: program(tb, text, "mcp", "--transport", "http", "--listen", "127.0.0.1:0"), log: log, ended: make(chan struct{}),
		},
		caller: &caller{tb: tb, log: log},
	}
	n.cmd.Env = append(n.cmd.Env, "LAB_LOGIN="+stored)
	out, err := n.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	at := make(chan string, 1)
	go func() {
		defer close(n.ended)
		for all := bufio.NewScanner(out); all.Scan(); {
			fmt.Fprintln(log, all.Text())
			if _, url, found := strings.Cut(all.Text(), "serving MCP at "); found {
				at <- url
			}
		}
		_ = n.cmd.Wait()
	}()
	tb.Cleanup(func() {
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
		_ = n.cmd.Process.Signal(syscall.SIGTERM)
		<-n.ended
		if tb.Failed() {
			tb.Logf("node %s has logged:\n%s", name, log)
		}
	})
	select {
	case n.url = <-at:
	case <-n.ended:
		tb.Fatalf("node %s does not serve:\n%s", name, log)
	}
	return n
}

// as connects a caller to a node that serveTokens has started.
func (n *node) as(token string) *node {
	n.tb.Helper()
	over, err := transport.NewStreamableHTTP(n.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + tokens[token]}),
		transport.WithHTTPBasicClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		n.tb.Fatal(err)
	}
	return &node{process: n.process, caller: handshake(n.tb, over, n.process.log), url: n.url}
}

// A far is an SSH server, and the options of a session to it.
type far struct {
	key     string // a private key that it takes, encrypted with passphrase
	known   string // a file with the server's key
	options map[string]any
}

// sshServer starts an SSH server that accepts planted and stored as passwords of two users, and a key. Its shell echoes
// its input.
func sshServer(tb testing.TB) far {
	tb.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	if err != nil {
		tb.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := sshserver.Listen(sshserver.Config{
		Passwords: map[string]string{"ann": planted, "bob": stored}, AuthorizedKeys: []ssh.PublicKey{key},
		Handler: func(_ context.Context, r *sshserver.Request) sshserver.Exit {
			_, _ = io.Copy(r.Stdout, r.Stdin)
			return sshserver.Exit{}
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	known := filepath.Join(tb.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(s.KnownHostsLine()+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return far{string(pem.EncodeToMemory(block)), known, map[string]any{
		"action": "open", "protocol": "ssh", "host": "127.0.0.1", "port": s.Port(),
	}}
}

// openAt opens a session with the server.
func (n *node) openAt(f far, user string, auth map[string]any) (id string) {
	n.tb.Helper()
	arguments := map[string]any{"username": user, "auth": auth}
	maps.Copy(arguments, f.options)
	r := n.call(arguments)
	if r.SessionID == "" || r.State != "open" {
		n.tb.Fatalf("open = %+v, want an open session", r)
	}
	return r.SessionID
}

// keeps waits until so many sessions are kept, and returns the bucket.
func keeps(tb testing.TB, url string, sessions int) (jetstream.JetStream, jetstream.KeyValue) {
	tb.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	kv, err := js.KeyValue(ctx, "ptyctl-sessions")
	if err != nil {
		tb.Fatal(err)
	}
	all, err := kv.WatchAll(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = all.Stop() }()
	for have := make(map[string]bool); len(have) < sessions; {
		select {
		case e := <-all.Updates():
			if e != nil {
				have[e.Key()] = true
			}
		case <-ctx.Done():
			tb.Fatalf("%d sessions are kept after a minute, want %d", len(have), sessions)
		}
	}
	return js, kv
}

func reopen(id string, auth map[string]any) map[string]any {
	arguments := map[string]any{"action": "reopen", "session_id": id}
	if auth != nil {
		arguments["auth"] = auth
	}
	return arguments
}

// dropped waits until the servers have dropped the connection of node a, which was killed. Until then it may be one that is
// only stopped, and calls are NODE_SILENT.
func dropped(tb testing.TB, nc *nats.Conn) {
	tb.Helper()
	natstest.Eventually(tb, "the servers know that the node is gone", func() bool {
		_, err := nc.Request("ptyctl.v1.node.a.call", nil, time.Second)
		return errors.Is(err, nats.ErrNoResponders)
	})
}

// droppedBy is dropped for a server that asks for no credentials.
func droppedBy(tb testing.TB, url string) {
	tb.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer nc.Close()
	dropped(tb, nc)
}

// TestReopenAfterKill: the sessions of a node that was killed are reopened at another node, by the callers that own
// them. Their entries in the bucket have no secret.
func TestReopenAfterKill(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshServer(t)
	a := serveTokens(t, "a", url, host)
	one := a.as("one")
	withPassword := map[string]any{"password": planted}
	byPassword := one.openAt(host, "ann", withPassword)
	byKey := one.openAt(host, "ann", map[string]any{"private_key_pem": host.key, "passphrase": passphrase})
	bySecret := one.openAt(host, "bob", map[string]any{"secret": "lab-login"})
	js, _ := keeps(t, url, 3)
	b := serveTokens(t, "b", url, host)
	atB, other := b.as("one"), b.as("two")
	if r := atB.call(reopen(byPassword, withPassword)); r.ErrorCode != "INVALID_ARGUMENT" {
		t.Errorf("reopen of an open session of a node that runs = %+v, want that there is nothing to reopen", r)
	}
	a.kill()
	droppedBy(t, url)
	if r := other.call(reopen(byPassword, withPassword)); r.ErrorCode != "NOT_FOUND" {
		t.Errorf("reopen of another's session = %+v, want NOT_FOUND", r)
	}
	for id, auth := range map[string]map[string]any{
		byPassword: withPassword, bySecret: nil, byKey: {"private_key_pem": host.key, "passphrase": passphrase},
	} {
		r := atB.call(reopen(id, auth))
		if r.State != "open" || r.ReopenedFrom != id || peers.NodeOf(r.SessionID) != "b" || r.Opens != 1 {
			t.Fatalf("reopen of %s = %+v, want a new session at b from it", id, r)
		}
		if again := atB.call(reopen(id, auth)); again.ErrorCode != "ALREADY_CLOSED" || !strings.Contains(again.Message, r.SessionID) {
			t.Errorf("second reopen of %s = %+v, want that it goes on as %s", id, again, r.SessionID)
		}
		if st := atB.call(map[string]any{"action": "status", "session_id": r.SessionID}); st.ErrorCode != "" {
			t.Errorf("status of it = %+v", st)
		}
	}
	keeps(t, url, 6)
	noSecret(t, js, url, planted, passphrase, stored, strings.TrimSpace(strings.Split(host.key, "\n")[1]), tokens["one"])
}

// noSecret searches all that the stream has stored.
func noSecret(tb testing.TB, js jetstream.JetStream, url string, secrets ...string) {
	tb.Helper()
	stream, err := js.Stream(tb.Context(), "KV_ptyctl-sessions")
	if err != nil {
		tb.Fatal(err)
	}
	info, err := stream.Info(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	read := 0
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(tb.Context(), seq)
		if err != nil {
			continue // it was written once more
		}
		read++
		for _, s := range secrets {
			if text := fmt.Sprint(m.Subject, m.Header, string(m.Data)); strings.Contains(text, s) {
				tb.Errorf("the stream has a secret: %s", text)
			}
		}
		if strings.Contains(string(m.Data), "redacted") {
			tb.Errorf("the stream has a place for a secret: %s", m.Data)
		}
	}
	if read == 0 {
		tb.Error("the stream is empty")
	}
}

// TestReopenPaused: no session of a stopped node is opened elsewhere, even when the other nodes count it as gone.
func TestReopenPaused(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshServer(t)
	a := serveTokens(t, "a", url, host)
	id := a.as("one").openAt(host, "ann", map[string]any{"password": planted})
	keeps(t, url, 1)
	b := serveTokens(t, "b", url, host).as("one")
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	call := reopen(id, map[string]any{"password": planted})
	for range 4 { // the fourth comes more than nodeTTL, 15 s, after the stop
		if r := b.call(call); r.ErrorCode != "NODE_SILENT" {
			t.Fatalf("reopen of a session of a node that is stopped = %+v, want NODE_SILENT", r)
		}
	}
	if r := b.call(map[string]any{"action": "list"}); len(r.Sessions) != 0 {
		t.Errorf("b has sessions %+v, want none", r.Sessions)
	}
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// TestReopenBroken: an entry that another node has written wrongly is not opened.
func TestReopenBroken(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshServer(t)
	a := serveTokens(t, "a", url, host)
	id := a.as("one").openAt(host, "ann", map[string]any{"password": planted})
	_, kv := keeps(t, url, 1)
	b := serveTokens(t, "b", url, host).as("one")
	a.kill()
	droppedBy(t, url)
	keys, err := kv.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	good := string(e.Value())
	for _, c := range []struct{ text, want string }{
		{"{", "no JSON object"},
		{strings.Replace(good, `"protocol":"ssh"`, `"protocol":"local"`, 1), "protocol is"},
		{strings.Replace(good, `"target":{`, `"target":{"local":{"argv":["sh"]},`, 1), "unknown field"},
		{strings.Replace(good, `"v":1`, `"v":2`, 1), "version 2"},
		{strings.Replace(good, `"host":"127.0.0.1"`, `"host":"-oProxyCommand=sh"`, 1), "host is"},
	} {
		if c.text == good {
			t.Fatalf("%s is not changed: %s", c.want, good)
		}
		if _, err := kv.Put(t.Context(), keys[0], []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		r := b.call(reopen(id, map[string]any{"password": planted}))
		if r.ErrorCode != "IO_ERROR" || !strings.Contains(r.Message, "not valid") || !strings.Contains(r.Message, c.want) {
			t.Errorf("reopen = %+v, want %q", r, c.want)
		}
	}
	if r := b.call(map[string]any{"action": "list"}); len(r.Sessions) != 0 {
		t.Errorf("b has sessions %+v, want none", r.Sessions)
	}
}

// TestReopenConsole: a console is reopened elsewhere once its lease is over, and never while another session has it.
func TestReopenConsole(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	store := judge(t, url)
	a := start(t, lines("a", url))
	first, second := a.open("switch-001", port), a.open("switch-002", port)
	keeps(t, url, 2)
	b := start(t, lines("b", url))
	a.kill()
	droppedBy(t, url)
	if r := b.call(reopen(first.SessionID, nil)); r.ErrorCode != "LOCKED" || r.Details.DeviceOwner.Node != "a" {
		t.Errorf("reopen while the lease lasts = %+v, want LOCKED by a", r)
	}
	free(t, store, "switch-001")
	free(t, store, "switch-002")
	var r result
	natstest.Eventually(t, "the console is reopened", func() bool {
		r = b.call(reopen(first.SessionID, nil))
		if r.ErrorCode == "LOCKED" && (!r.Retryable || !strings.Contains(r.Message, "was not given back by the node that had it")) {
			t.Errorf("reopen just after the lease = %+v, want it to say that a may count on the console", r)
		}
		return r.ErrorCode != "LOCKED"
	})
	if r.ReopenedFrom != first.SessionID || peers.NodeOf(r.SessionID) != "b" {
		t.Errorf("reopen after the lease = %+v, want a new session at b", r)
	}
	var owner result
	natstest.Eventually(t, "the other console is opened", func() bool {
		owner = b.open("switch-002", port)
		return owner.ErrorCode != "LOCKED"
	})
	r = b.call(reopen(second.SessionID, nil))
	if r.ErrorCode != "LOCKED" || r.Details.DeviceOwner.Node != "b" || r.Details.DeviceOwner.SessionID != owner.SessionID {
		t.Errorf("reopen of a console that is open again = %+v, want LOCKED by %s", r, owner.SessionID)
	}
}

// TestReopenAgain: a login that is given up leaves the session of a node that was killed to a later call.
func TestReopenAgain(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshServer(t)
	a := serveTokens(t, "a", url, host)
	id := a.as("one").openAt(host, "ann", map[string]any{"password": planted})
	keeps(t, url, 1)
	b := serveTokens(t, "b", url, host).as("one")
	a.kill()
	droppedBy(t, url)
	asks := b.call(reopen(id, nil))
	if asks.State != "authenticating" || asks.ReopenedFrom != id {
		t.Fatalf("reopen without a password = %+v, want the login's question", asks)
	}
	if r := b.call(reopen(id, map[string]any{"password": planted})); r.ErrorCode != "ALREADY_CLOSED" {
		t.Errorf("reopen while another one opens = %+v, want that it goes on as that", r)
	}
	if r := b.call(map[string]any{"action": "close", "session_id": asks.SessionID}); r.ErrorCode != "" {
		t.Fatalf("close = %+v", r)
	}
	for deadline := time.Now().Add(time.Minute); ; { // b takes its claim back when the new session has ended
		r := b.call(reopen(id, map[string]any{"password": planted}))
		if r.ReopenedFrom == id && r.State == "open" {
			return
		}
		if r.ErrorCode != "ALREADY_CLOSED" || time.Now().After(deadline) {
			t.Fatalf("reopen after one that was given up = %+v", r)
		}
	}
}

// TestFewWrites: the entry of a session is written when the session opens and when it ends, whatever it does meanwhile.
// A session that its caller has closed is not kept.
func TestFewWrites(t *testing.T) {
	t.Parallel()
	url, host := natstest.Start(t, 1)[0].URL, sshServer(t)
	a := serveTokens(t, "a", url, host).as("one")
	js, kv := keeps(t, url, 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changes, err := kv.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		t.Fatal(err)
	}
	next := func(want jetstream.KeyValueOp) {
		t.Helper()
		for {
			select {
			case e := <-changes.Updates():
				if e != nil {
					if e.Operation() != want {
						t.Fatalf("the write is a %v, want a %v", e.Operation(), want)
					}
					return
				}
			case <-ctx.Done():
				t.Fatalf("no %v within a minute", want)
			}
		}
	}
	id := a.openAt(host, "ann", map[string]any{"password": planted})
	next(jetstream.KeyValuePut)
	for _, action := range []string{"lock", "heartbeat", "unlock", "status"} {
		arguments := map[string]any{"action": action, "session_id": id}
		if action != "status" {
			arguments["task_id"] = "t"
		}
		if r := a.call(arguments); r.ErrorCode != "" {
			t.Fatalf("%s = %+v", action, r)
		}
	}
	if r := a.call(map[string]any{"action": "close", "session_id": id}); r.ErrorCode != "" {
		t.Fatalf("close = %+v", r)
	}
	next(jetstream.KeyValueDelete)
	stream, err := js.Stream(t.Context(), "KV_ptyctl-sessions")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.LastSeq != 2 {
		t.Errorf("the stream has had %d writes, %v; want 2", info.State.LastSeq, err)
	}
}
