package httpserve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"ptyctl/mcpapi/httpserve"
)

// The calls that a lock must refuse to others, at a session of the echo host. $T is
// replaced by the task.
var locked = map[string][]string{
	"ptyctl_session": {
		`{"action":"lock","session_id":"$S","task_id":"$T"}`, `{"action":"heartbeat","session_id":"$S","task_id":"$T"}`,
		`{"action":"unlock","session_id":"$S","task_id":"$T"}`, `{"action":"close","session_id":"$S","task_id":"$T"}`,
	},
	"ptyctl_session_exec": {`{"session_id":"$S","task_id":"$T","cmd":"true"}`},
	"ptyctl_session_io": {
		`{"action":"write","session_id":"$S","task_id":"$T","data":"x"}`,
		`{"action":"write","session_id":"$S","task_id":"$T","key":"ctrl_c"}`,
	},
	"ptyctl_session_config": {`{"action":"resize","session_id":"$S","task_id":"$T","cols":80,"rows":24}`},
}

// refusedAll makes all these calls. Each of them must be refused.
func refusedAll(t *testing.T, a agent, id, task, message string) {
	t.Helper()
	for tool, calls := range locked {
		for _, args := range calls {
			args = strings.NewReplacer("$S", id, "$T", task).Replace(args)
			if r := a.call(tool, args); r.ErrorCode != "LOCKED" || !strings.Contains(r.Message, message) ||
				strings.Contains(r.Message, "task_id") {
				t.Errorf("%s %s = %s, want LOCKED that says %q and nothing of task_id", tool, args, r.text, message)
			}
		}
	}
}

// A task belongs to the token that names it, so another token cannot act as the task.
// With one token, tasks exclude each other and a task_id keeps its meaning, in every
// revision.
func TestTokensHoldLocksOfTheirOwn(t *testing.T) {
	s := newSite(t, httpserve.Options{Tokens: allTokens})
	mine := s.initialize(writeToken, latest)
	id := mine.open()
	if r := mine.call("ptyctl_session",
		`{"action":"lock","session_id":"`+id+`","task_id":"deploy","lock_ttl_ms":60000}`); r.ErrorCode != "" {
		t.Fatalf("lock = %s, want success", r.text)
	}
	write := `{"action":"write","session_id":"` + id + `","task_id":"deploy","key":"ctrl_c","request_id":"r1"}`
	if r := mine.call("ptyctl_session_io", write); r.ErrorCode != "" {
		t.Fatalf("write by the holder = %s, want success", r.text)
	}
	for name, theirs := range map[string]agent{
		"legacy": s.initialize(otherToken, latest),
		"modern": s.modern(otherToken),
	} {
		t.Run(name, func(t *testing.T) {
			theirs.t = t
			refusedAll(t, theirs, id, "deploy", "another client holds")
			refusedAll(t, theirs, id, "other", "another client holds")
			if r := theirs.call("ptyctl_session_io", write); r.ErrorCode != "LOCKED" {
				t.Errorf("call with another token and the holder's request_id = %s, want a refusal", r.text)
			}
		})
	}
	for name, again := range map[string]agent{"legacy": s.initialize(writeToken, latest), "modern": s.modern(writeToken)} {
		t.Run("the same token, "+name, func(t *testing.T) {
			again.t = t
			refusedAll(t, again, id, "other", "task deploy holds")
			if r := again.call("ptyctl_session_io", write); r.ErrorCode != "" {
				t.Errorf("repeated write by the holder = %s, want the first result", r.text)
			}
		})
	}
}

// Without tokens all of HTTP is one caller: the name of the task decides.
func TestWithoutTokensHTTPIsOne(t *testing.T) {
	s := newSite(t, httpserve.Options{})
	mine, other := s.initialize("", latest), s.initialize("", latest)
	id := mine.open()
	if r := mine.call("ptyctl_session", `{"action":"lock","session_id":"`+id+`","task_id":"deploy"}`); r.ErrorCode != "" {
		t.Fatalf("lock = %s, want success", r.text)
	}
	refusedAll(t, other, id, "other", "task deploy holds")
	if r := other.call("ptyctl_session_io",
		`{"action":"write","session_id":"`+id+`","task_id":"deploy","data":"x"}`); r.ErrorCode != "" {
		t.Errorf("write by the task on another connection = %s, want success", r.text)
	}
}

// attachAs requests a proof and returns a client that sends it with all requests.
func attachAs(s *site, name string) (proof string, status int) {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.send(message{path: httpserve.AttachPath, body: string(body)})
	var given struct{ Proof string }
	if r.status == http.StatusOK {
		if err := json.Unmarshal([]byte(r.text), &given); err != nil || given.Proof == "" ||
			r.header.Get("Cache-Control") != "no-store" {
			s.t.Errorf("attach = %s, %v, %v; want a proof that is not cached", r.text, r.header, err)
		}
	}
	return given.Proof, r.status
}

// showing returns a client that sends a proof with each call.
func showing(a agent, proof ...string) agent {
	a.header = http.Header{httpserve.AttachmentHeader: proof}
	return a
}

// A client with the proof is the person, over any connection; no other client is,
// whatever it sends. A server for agents gives no proofs and ignores the header.
func TestAttachment(t *testing.T) {
	s := newSite(t, httpserve.Options{Operator: true, Transport: "socket"})
	plain := s.initialize("", latest)
	id := plain.open()
	proof, _ := attachAs(s, "root")
	second, _ := attachAs(s, "root")
	take := `{"action":"lock","session_id":"` + id + `","task_id":"x","take_over":true}`
	r := showing(plain, proof).call("ptyctl_session", take)
	if r.ErrorCode != "" || !strings.Contains(r.text, `"lock_holder":"person root"`) || strings.Contains(r.text, proof) {
		t.Fatalf("take_over by the person = %s, want success", r.text)
	}
	for _, task := range []string{"x", "person root", proof, "root"} {
		refusedAll(t, plain, id, task, "person root holds")
		refusedAll(t, showing(plain, second), id, task, "person root holds")
	}
	if r := plain.call("ptyctl_session", take); r.ErrorCode != "LOCKED" {
		t.Errorf("take_over from a person = %s, want a refusal", r.text)
	}
	if r := showing(s.initialize("", latest), proof).call("ptyctl_session_io",
		`{"action":"write","session_id":"`+id+`","data":"x"}`); r.ErrorCode != "" {
		t.Errorf("write by the person on another connection = %s, want success", r.text)
	}
	for _, shown := range [][]string{{""}, {"x"}, {proof, second}, {proof + "A"}, {strings.ToLower(proof)}} {
		m := plain.message
		m.header, m.body = http.Header{httpserve.AttachmentHeader: shown}, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		s.refused(s.send(m), http.StatusForbidden, "given no such")
	}
	if r := showing(plain, second).call("ptyctl_session", take); r.ErrorCode != "" ||
		!strings.Contains(r.text, `"previous_holder":"person root"`) {
		t.Errorf("take_over by another person = %s, want success", r.text)
	}
	refusedAll(t, showing(plain, proof), id, "x", "person root")

	for _, m := range []message{
		{method: http.MethodGet},
		{body: "x"},
		{body: `{"name":7}`},
		{body: ""},
		{body: "{}", header: http.Header{"Content-Type": {"text/plain"}}},
	} {
		m.path = httpserve.AttachPath
		if r := s.send(m); r.status < 400 || r.status >= 500 {
			t.Errorf("attach with %s %q = %d %s, want a refusal", m.method, m.body, r.status, r.text)
		}
	}

	network := newSite(t, httpserve.Options{})
	if _, status := attachAs(network, "root"); status != http.StatusNotFound {
		t.Errorf("attach over HTTP: %d, want 404", status)
	}
	agents := network.initialize("", latest)
	webID := agents.open()
	if r := showing(agents, proof).call("ptyctl_session",
		`{"action":"lock","session_id":"`+webID+`","task_id":"x"}`); r.ErrorCode != "" ||
		!strings.Contains(r.text, `"lock_holder":"x"`) {
		t.Errorf("lock over HTTP with a proof = %s, want the proof ignored", r.text)
	}
	refusedAll(t, showing(agents, proof), webID, "y", "task x holds")
}
