package leaktest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// odd has characters that encodings escape.
const odd = "p <w>&\"\\\u00e9\u2028-" + Mark

// searched searches the outputs for the secrets, as those of another test program.
func searched(t *testing.T, secrets []string, outputs ...string) Report {
	t.Helper()
	folder := t.TempDir()
	var a, b trail
	for _, k := range []*trail{&a, &b} {
		if err := k.open(folder); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range secrets {
		a.secret(t, s)
	}
	for _, o := range outputs {
		b.output(t, "output", []byte(o))
	}
	for _, k := range []*trail{&a, &b} {
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "test.output"), []byte("ok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Search(folder)
	if err != nil {
		t.Fatal(err)
	}
	if r.Trails != 2 || r.Secrets != len(secrets) || r.Outputs != len(outputs)+1 {
		t.Errorf("%d trails, %d secrets and %d outputs were searched", r.Trails, r.Secrets, r.Outputs)
	}
	return r
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryFormIsFound(t *testing.T) {
	for _, secret := range []string{"word-" + Mark, odd} {
		result := encode(t, map[string]any{"chunk": "$ " + secret + "\r\n"})
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("answer", "result", result)
		for name, text := range map[string]string{
			"raw":                      "is " + secret + ".",
			"alone":                    secret,
			"JSON":                     encode(t, secret),
			"JSON in JSON":             encode(t, result),
			"JSON in JSON in a log":    log.String(),
			"JSON for browsers or not": encode(t, json.RawMessage(`"`+inJSON(secret, false)+`"`)),
			"quoted":                   fmt.Sprintf("%q", secret),
			"quoted in ASCII":          fmt.Sprintf("%+q", secret),
			"quoted twice":             fmt.Sprintf("%q", fmt.Sprintf("%q", secret)),
			"hex":                      hex.EncodeToString([]byte("x" + secret)),
			"HEX":                      fmt.Sprintf("%X", secret),
			"hex dump":                 fmt.Sprintf("% x", secret),
			"bytes":                    fmt.Sprintf("%d", []byte("a"+secret+"b")),
			"array":                    encode(t, []int{1, 2}) + strings.ReplaceAll(fmt.Sprintf("%d", []byte(secret)), " ", ","),
			"base64":                   encode(t, []byte(secret)),
			"base64 within":            base64.StdEncoding.EncodeToString([]byte("user:" + secret + ":more")),
			"base64 within, +1":        base64.StdEncoding.EncodeToString([]byte("user12" + secret + ":more")),
			"base64 within, +2":        base64.URLEncoding.EncodeToString([]byte("user123" + secret + ":more")),
			"base64 of JSON":           base64.StdEncoding.EncodeToString([]byte("x" + encode(t, secret))),
			"query":                    "?q=" + url.QueryEscape(secret),
			"path":                     "/" + url.PathEscape(secret),
			"userinfo":                 url.UserPassword("u", secret).String(),
			"wrapped":                  "$ " + secret[:5] + "\r\n" + secret[5:],
			"wrapped, in JSON":         encode(t, encode(t, secret[:5]+"\r\n"+secret[5:])),
			"wrapped twice, in base64": func() string {
				s := base64.StdEncoding.EncodeToString([]byte(secret))
				return s[:2] + "\n" + s[2:9] + "\n" + s[9:]
			}(),
		} {
			t.Run(name, func(t *testing.T) {
				for _, text := range []string{text, strings.Repeat("x", 100) + text + "x"} {
					r := searched(t, []string{"other-" + Mark, secret}, "nothing", text)
					if len(r.Leaks) == 0 {
						t.Fatalf("%q is not found in %q", secret, text)
					}
					if l := r.Leaks[0]; l.Secret != secret || !strings.Contains(l.Test, t.Name()) ||
						!strings.Contains(l.Output, t.Name()+"/output#2") ||
						l.At > len(text) {
						t.Errorf("found %+v", l)
					}
				}
			})
		}
	}
}

func TestNothingElseIsFound(t *testing.T) {
	r := searched(
		t,
		[]string{"word-" + Mark, odd},
		"",
		"word",
		"word-113",
		"ord-"+Mark,
		"w-o-r-d-"+Mark,
		strings.ToUpper("word-"+Mark),
		"word-"+Mark[:3]+"\r\n9",
		strings.Repeat(`\`, 9)+"n",
		strings.Repeat("word-", 1000),
	)
	if len(r.Leaks) != 0 {
		t.Errorf("found %v", r.Leaks)
	}
}

// A secret in the output of go test must be found, too.
func TestOutputOfGoTest(t *testing.T) {
	folder := t.TempDir()
	var k trail
	if err := k.open(folder); err != nil {
		t.Fatal(err)
	}
	k.secret(t, "word-"+Mark)
	k.output(t, "log", []byte("nothing"))
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Search(folder); err == nil || !strings.Contains(err.Error(), "0 of them of go test") {
		t.Errorf("without the output of go test: %v", err)
	}
	output := []byte("--- FAIL: got word-" + Mark + "\n")
	if err := os.WriteFile(filepath.Join(folder, "unit.output"), output, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := Search(folder); err != nil || len(r.Leaks) != 1 || r.Leaks[0].Output != "unit.output" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A search without any input must be an error.
func TestNothingSearched(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "unit.output"), []byte("ok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Search(folder); err == nil {
		t.Error("no trail, and no error")
	}
	var k trail
	if err := k.open(folder); err != nil {
		t.Fatal(err)
	}
	k.output(t, "log", []byte("text"))
	if _, err := Search(folder); err == nil || !strings.Contains(err.Error(), "before it was whole") {
		t.Errorf("a trail that is not whole: %v", err)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Search(folder); err == nil || !strings.Contains(err.Error(), " 0 secrets") {
		t.Errorf("no secrets: %v", err)
	}
}

// A failing is a test that records its errors.
type failing struct {
	testing.TB
	said []string
}

func (f *failing) Helper() {}

func (f *failing) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestSecretsThatCouldBeAnything(t *testing.T) {
	for _, text := range []string{"", "x", "hunter2", "correct horse", Mark, "abc" + Mark} {
		f := &failing{TB: t}
		if Secret(f, text); len(f.said) != 1 {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"hunter2\r", "y", "correct horse\rbattery staple"} {
		f := &failing{TB: t}
		if Typed(f, text); len(f.said) != 1 {
			t.Errorf("%q is taken", text)
		}
	}
	for _, text := range []string{"", "\r\n", "123456\r\n", "typed-" + Mark + "\r", "enable\rtyped-" + Mark + "\r"} {
		f := &failing{TB: t}
		if Typed(f, text); len(f.said) != 0 {
			t.Errorf("%q is refused: %s", text, f.said)
		}
	}
	keep.mu.Lock()
	defer keep.mu.Unlock()
	if keep.secrets["typed-"+Mark] != t.Name() || keep.secrets["enable"] != "" {
		t.Errorf("the secrets are %q", keep.secrets)
	}
}

// Each line of a key's private half must count as a secret; the public half must not.
func TestKeys(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	primes, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []crypto.Signer{edwards, curve, primes} {
		t.Run(fmt.Sprintf("%T", private), func(t *testing.T) {
			block, err := ssh.MarshalPrivateKey(private, "comment")
			if err != nil {
				t.Fatal(err)
			}
			public, err := ssh.NewPublicKey(private.Public())
			if err != nil {
				t.Fatal(err)
			}
			text := string(pem.EncodeToMemory(block))
			if got := Key(t, text); got != text {
				t.Errorf("got %q", got)
			}
			var lines []string
			keep.mu.Lock()
			for s, test := range keep.secrets {
				if test == t.Name() {
					lines = append(lines, s)
				}
			}
			keep.mu.Unlock()
			if r := searched(t, lines, encode(t, encode(t, text))); len(r.Leaks) < 2 {
				t.Errorf("the key is not found: %v", r.Leaks)
			}
			if r := searched(t, lines, string(ssh.MarshalAuthorizedKey(public)), fmt.Sprintf("%x", public.Marshal())); len(
				r.Leaks,
			) != 0 {
				t.Errorf("the public key is found: %v", r.Leaks)
			}
		})
	}
}

// TestPlanted leaks a secret if TestMainFails asks for it.
func TestPlanted(t *testing.T) {
	secret := Secret(t, "planted-"+Mark)
	log := Log(t)
	dir := t.TempDir() + "/"
	File(t, dir)
	switch os.Getenv("LEAKTEST_PLANT") {
	case "log":
		log.Debug("seen", "words", []string{secret})
	case "file":
		if err := os.WriteFile(dir+"state", []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Main must fail if all tests pass but one leaks.
func TestMainFails(t *testing.T) {
	for _, where := range []string{"", "log", "file"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPlanted$")
		cmd.Env = append(os.Environ(), "LEAKTEST_PLANT="+where, Folder+"=")
		out, err := cmd.CombinedOutput()
		failed := strings.Contains(string(out), `shows the secret "planted-`+Mark+`" of leaktest.test`)
		if (err != nil) != (where != "") || failed != (where != "") || !strings.HasPrefix(string(out), "PASS") {
			t.Errorf("leak in %q: %v: %s", where, err, out)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	plain := newIndex()
	for i := range 500 {
		for _, f := range forms(fmt.Sprintf("secret-%d-%s", i, Mark)) {
			plain.add(f, f)
		}
	}
	data := []byte(
		strings.Repeat(
			`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"{\"success\":true}"}]}}`+"\n",
			10000,
		),
	)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		plain.scan(data, func(needle, int) { b.Fatal("found") })
		plain.scan([]byte(join(string(data))), func(needle, int) { b.Fatal("found") })
	}
}
