package natstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// A party is an operator, an account or a user of NATS.
type party struct {
	keys   nkeys.KeyPair
	public string
}

func newParty(tb testing.TB, prefix nkeys.PrefixByte) party {
	tb.Helper()
	keys, err := nkeys.CreatePair(prefix)
	if err != nil {
		tb.Fatal(err)
	}
	public, err := keys.PublicKey()
	if err != nil {
		tb.Fatal(err)
	}
	return party{keys, public}
}

// Accounts are an operator of NATS with one account, which may use JetStream.
type Accounts struct {
	Lines string // of a server's configuration

	account party
}

// NewAccounts makes an operator and the account.
func NewAccounts(tb testing.TB) *Accounts {
	tb.Helper()
	by, system := newParty(tb, nkeys.PrefixByteOperator), newParty(tb, nkeys.PrefixByteAccount)
	a := &Accounts{account: newParty(tb, nkeys.PrefixByteAccount)}
	claims := jwt.NewAccountClaims(a.account.public)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	a.Lines = fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		encoded(tb, jwt.NewOperatorClaims(by.public), by), system.public,
		system.public, encoded(tb, jwt.NewAccountClaims(system.public), by), a.account.public, encoded(tb, claims, by))
	return a
}

// encoded returns a token signed by a party.
func encoded(tb testing.TB, claims jwt.Claims, by party) string {
	tb.Helper()
	text, err := claims.Encode(by.keys)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// Credentials makes a user, who may publish and subscribe to these subjects only; none: to all. It returns the path of the
// user's file.
func (a *Accounts) Credentials(tb testing.TB, publish, subscribe []string) (path string) {
	tb.Helper()
	user := newParty(tb, nkeys.PrefixByteUser)
	claims := jwt.NewUserClaims(user.public)
	claims.Pub.Allow.Add(publish...)
	claims.Sub.Allow.Add(subscribe...)
	seed, err := user.keys.Seed()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(encoded(tb, claims, a.account), seed)
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "user.creds")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Violations returns the lines of the server's log about denied requests of clients.
func (s *Server) Violations(tb testing.TB) (all []string) {
	tb.Helper()
	text, err := os.ReadFile(s.log)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "Violation") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}
