package proof_test

import (
	"os"
	"strings"
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/cluster/proof"
)

// TestCheck: a proof is good for the node of the user who made it, and for nothing else.
func TestCheck(t *testing.T) {
	const subject = "$KV.g-nodes.node."
	ours, theirs := natstest.NewAccounts(t), natstest.NewAccounts(t)
	prover := func(a *natstest.Accounts, publish ...string) *proof.Prover {
		t.Helper()
		text, err := os.ReadFile(a.Credentials(t, publish, nil))
		if err != nil {
			t.Fatal(err)
		}
		p, err := proof.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	key := []byte("the public key of this process")
	shown := func(p *proof.Prover, name string) *proof.Shown {
		t.Helper()
		s, err := p.Make(subject+name, name, key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := prover(ours, "x", subject+"a"), prover(ours, subject+"b")
	stolen := shown(b, "a")
	stolen.User = shown(a, "a").User
	cut := shown(a, "a")
	cut.User = cut.User[:len(cut.User)-4] + "AAAA"
	for what, test := range map[string]struct {
		shown *proof.Shown
		name  string
		key   []byte
		want  string // in the error; empty: none
	}{
		"its own":                  {shown(a, "a"), "a", key, ""},
		"a pattern of rights":      {shown(prover(ours, "$KV.g-nodes.>"), "a"), "a", key, ""},
		"no limits":                {shown(prover(ours), "a"), "a", key, ""},
		"another name":             {shown(a, "a"), "b", key, "has no right to publish"},
		"another key":              {shown(a, "a"), "a", []byte("another"), "has not signed it"},
		"the user of another node": {shown(b, "a"), "a", key, "has no right to publish"},
		"the token of another's":   {stolen, "a", key, "has not signed it"},
		"no proof":                 {nil, "a", key, "no proof of its node"},
		"a changed token":          {cut, "a", key, "token of its user"},
		"another account":          {shown(prover(theirs, subject+"a"), "a"), "a", key, "all need the same"},
		"no token":                 {&proof.Shown{}, "a", key, "token of its user"},
		"a token that is too long": {&proof.Shown{User: strings.Repeat("x", 9000)}, "a", key, "at most"},
	} {
		err := b.Check(subject+test.name, test.name, test.key, test.shown)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
	text, err := a.Sign(proof.Session, subject+"a", []byte("a\x00"+string(key)))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(proof.Session, subject+"a", []byte("a\x00"+string(key)), text); err != nil {
		t.Errorf("a signed text: %v", err)
	}
	for what, err := range map[string]error{
		"another text":             b.Verify(proof.Session, subject+"a", []byte("a\x00another"), text),
		"a text of another kind":   b.Verify(proof.Claim, subject+"a", []byte("a\x00"+string(key)), text),
		"a text as a node's entry": b.Check(subject+"a", "a", key, text),
	} {
		if err == nil || !strings.Contains(err.Error(), "has not signed it") {
			t.Errorf("%s: %v, want that it is not signed", what, err)
		}
	}
	if _, err := proof.Read([]byte("no credentials")); err == nil {
		t.Error("a text without credentials is taken for some")
	}
}
