package natstest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// StartWithRights starts a server with one user, who may publish only to the subjects that a file lists in lines of the
// form "publish SUBJECT". In these subjects it replaces the pairs of replace. It returns a connection of the user, and
// a function that returns the complaints of the server.
func StartWithRights(tb testing.TB, file string, replace ...string) (nc *nats.Conn, complaints func() []string) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var publish []string
	for line := range strings.Lines(string(text)) {
		if subject, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line, "//")), "publish "); ok {
			publish = append(publish, fmt.Sprintf("%q", strings.NewReplacer(replace...).Replace(subject)))
		}
	}
	if len(publish) == 0 {
		tb.Fatalf("%s lists no subjects", file)
	}
	url := StartWith(tb, 1, fmt.Sprintf(`
authorization { users: [{ user: node, password: "password-1138", permissions: { publish: [%s], subscribe: ["_INBOX.>"] } }] }
`, strings.Join(publish, ", ")))[0].URL
	var mu sync.Mutex
	var all []string
	nc, err = nats.Connect(url, nats.UserInfo("node", "password-1138"), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, err.Error())
		}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), all...)
	}
}
