package tools_test

import (
	"strings"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/term"
)

// A secret in the wrong place or of the wrong type is in no message.
func TestDecodeKeepsSecrets(t *testing.T) {
	const secret = "hunter2-1138"
	leaktest.Secret(t, secret)
	for _, args := range []string{
		`"auth":{"password":["hunter2-1138"]}`,
		`"auth":{"password":{"hunter2-1138":"hunter2-1138x"}}`,
		`"auth":"hunter2-1138"`,
		`"auth":["hunter2-1138"]`,
		`"auth":{"pasword":"hunter2-1138"}`,
		`"auth":{"password":"hunter2-1138","password":"hunter2-1138"}`,
		`"auth":{"private_key_pem":["hunter2-1138"]}`,
		`"auth":{"interactive":"hunter2-1138"}`,
		`"password":"hunter2-1138"`,
		`"port":"hunter2-1138"`,
		`"auth":{"method":"agent","password":"hunter2-1138"}`,
		`"auth":{"method":"private_key","password":"hunter2-1138"}`,
		`"auth":{"password":"hunter2-1138"},"acquire_lock":true`,
	} {
		a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{}), "")
		r := a.Call(mcptest.SessionTool, `{"action":"open","protocol":"ssh","host":"h",`+args+`}`)
		if r.ErrorCode != term.InvalidArgument {
			t.Errorf("%s: got %s", args, r.Text)
		}
		if strings.Contains(r.Text, secret) {
			t.Errorf("%s: the secret is in %s", args, r.Text)
		}
	}
}
