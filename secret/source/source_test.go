package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
)

const planted = "corr3ct horse"

// script writes a program, and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// write writes a file, and returns its path.
func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// sealed encrypts text, and returns the paths of the file and of its identity.
func sealed(t *testing.T, text string, armored bool) (path, identity string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := armor.NewWriter(&out)
	to := age.Recipient(key.Recipient())
	w, err := age.Encrypt(&out, to)
	if armored {
		out.Reset()
		w, err = age.Encrypt(a, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if armored {
		_ = a.Close()
	}
	return write(t, out.String(), 0o644), write(t, "# a comment\n"+key.String()+"\n", 0o600)
}

func variables(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// Each kind of source finds its value, and only its value.
func TestFetch(t *testing.T) {
	plain, identity := sealed(t, planted+"\nsecond", false)
	armored, identity2 := sealed(t, planted, true)
	credentials := filepath.Dir(write(t, planted+"\n", 0o644))
	env := variables(map[string]string{"TOKEN": planted, "KEPT": "a b", "OTHER": "no", "CREDENTIALS_DIRECTORY": credentials})
	for _, tt := range []struct {
		text string
		o    Options
		want string
	}{
		{"exec:" + script(t, "echo '"+planted+"'; echo more"), Options{}, planted},
		{"exec:" + script(t, "PATH=/bin:/usr/bin; sleep 1000 & echo '"+planted+"'"), Options{}, planted}, // an agent of the helper's
		{"exec:" + script(t, `printf '%s\r\n' "$1-$2"`) + " a  b", Options{}, "a-b"},
		{"exec:" + script(t, `echo "$KEPT.$OTHER."`), Options{Env: []string{"KEPT", "none"}}, "a b.."},
		{"exec:~/helper", Options{Home: filepath.Dir(script(t, "echo "+planted))}, planted},
		{"git-credential:" + script(t, `[ "$1" = get ] && cat >/dev/null && echo username=a && echo "password=`+planted+`"`) +
			" https://git.example.net", Options{}, planted},
		{"git-credential:" + script(t, `tr '\n' , | sed 's/^/password=/'`) + " https://alice@git.example.net/team/x", Options{},
			"protocol=https,host=git.example.net,path=team/x,username=alice,,"},
		{"docker-credential:" + script(t, `read server; echo "{\"ServerURL\":\"$server\",\"Username\":\"a\",\"Secret\":\"$1 $server\"}"`) +
			" https://index.example.net", Options{}, "get https://index.example.net"},
		{"age:" + plain, Options{Identity: identity}, planted},
		{"age:" + armored, Options{Identity: identity2}, planted},
		{"file:" + write(t, planted+"\r\nx", 0o600), Options{}, planted},
		{"file:" + write(t, "\xef\xbb\xbf"+planted+"\r\n", 0o600), Options{}, planted}, // of an editor on Windows
		{"exec:" + script(t, `printf '\357\273\277'; echo '`+planted+"'"), Options{}, planted},
		{"systemd-credential:file", Options{}, planted},
		{"env:TOKEN", Options{}, planted},
	} {
		tt.o.Lookup = env
		s, err := Parse(tt.text, tt.o)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		if got, err := s.Fetch(t.Context()); err != nil || string(got) != tt.want {
			t.Errorf("the value of %s is %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

// The error of a source without a value gives the reason, but never a helper's output.
func TestNoValue(t *testing.T) {
	plain, _ := sealed(t, planted, false)
	_, other := sealed(t, planted, false)
	fifo := filepath.Dir(script(t, ""))
	env := variables(map[string]string{"EMPTY": ""})
	for _, tt := range []struct {
		text string
		o    Options
		want string
	}{
		{"exec:/nonexistent/op read x", Options{}, "/nonexistent/op: there is no such program here"},
		{"exec:" + script(t, "exit 0"), Options{}, "it has printed nothing"},
		{"exec:" + script(t, "echo; echo "+planted), Options{}, "helper: its first line is empty"},
		{"exec:" + script(t, "echo "+planted+"; echo "+planted+" >&2; exit 3"), Options{}, "exit status 3"},
		{"exec:" + script(t, "yes "+planted), Options{}, "more than 4096 bytes"},
		{"git-credential:" + script(t, "echo username=a") + " https://x", Options{}, "no password for that URL"},
		{"docker-credential:" + script(t, "echo '"+planted+"'") + " https://x", Options{}, "its answer has no Secret"},
		{"age:" + plain, Options{Identity: other}, "did not match any"},
		{"age:" + plain, Options{Identity: write(t, planted, 0o600)}, "it is no file of age identities"},
		{"age:" + plain, Options{Identity: write(t, "", 0o644)}, "chmod 600"},
		{"file:" + write(t, planted, 0o640), Options{}, "other users may read it"},
		{"file:" + write(t, "\n"+planted, 0o600), Options{}, "its first line is empty"},
		{"file:" + write(t, strings.Repeat("x", 5000), 0o600), Options{}, "more than 4096 bytes"},
		{"file:" + write(t, "\xff\xfe"+strings.Join(strings.Split(planted, ""), "\x00")+"\x00\r\x00\n\x00", 0o600), Options{}, "NUL"},
		{"file:" + write(t, "\xef\xbb\xbf\n"+planted, 0o600), Options{}, "its first line is empty"},
		{"exec:" + script(t, `printf 'ab\000cd\n'`), Options{}, "NUL"},
		{"file:" + fifo, Options{}, "it is no regular file"},
		{"file:/nonexistent", Options{}, "no such file"},
		{"systemd-credential:x", Options{}, "LoadCredential="},
		{"env:NONE", Options{}, "the variable NONE is not set"},
		{"env:EMPTY", Options{}, "the variable EMPTY is not set"},
		{"totp:file:" + write(t, planted+"!", 0o600), Options{}, "no key in base32"},
		{"totp:file:" + write(t, "otpauth://hotp/x?secret=AAAA", 0o600), Options{}, "no otpauth URI of type totp"},
		{"totp:file:" + write(t, "otpauth://totp/x?secret=AAAA&digits=1", 0o600), Options{}, "6 to 8 digits"},
		{"person", Options{}, ErrPerson.Error()},
	} {
		tt.o.Lookup = env
		s, err := Parse(tt.text, tt.o)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		got, err := s.Fetch(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), planted) {
			t.Errorf("the value of %s is %q, and the error %v; want an error with %q", tt.text, got, err, tt.want)
		}
	}
}

// Variables that are themselves secrets are taken out of the environment, so that no other program inherits them.
func TestTake(t *testing.T) {
	all := map[string]string{"VAULT_TOKEN": planted, "HOME": "/", "BW_SESSION": "b", "X": planted}
	var taken []string
	o := Options{Env: []string{"HOME", "VAULT_TOKEN", "BW_SESSION", "GNUPGHOME"}, Lookup: variables(all)}
	o.Take = func(name string) (string, bool) {
		taken = append(taken, name)
		return o.Lookup(name)
	}
	for _, text := range []string{"exec:" + script(t, "echo $VAULT_TOKEN"), "env:X", "totp:env:Y"} {
		s, err := Parse(text, o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Fetch(t.Context()); text != "totp:env:Y" && (err != nil || string(got) != planted) {
			t.Errorf("the value of %s is %q, %v", text, got, err)
		}
	}
	if want := []string{"VAULT_TOKEN", "BW_SESSION", "X", "X", "Y", "Y"}; !slices.Equal(taken, want) {
		t.Errorf("taken are %q, want %q", taken, want)
	}
}

// A source that cannot work is refused when the configuration is read.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "a source is one of exec:",
		"hunter2hunter2hunter2hunter2":  "a source is one of exec:",
		"op://vault/item":               "a source is one of exec:",
		"exec:":                         "needs something behind the colon",
		"exec:op read x":                "the path must be absolute",
		"exec: ":                        "the path of a program is missing",
		"file:secret.txt":               "the path must be absolute",
		"age:/x":                        "no file of age identities",
		"git-credential:example.net":    "needs a URL",
		"docker-credential:/x":          "the URL of a server",
		"keyring:web1":                  "needs SERVICE/USER",
		"systemd-credential:../x":       "not a path",
		"env:A=B":                       "the name of a variable",
		"totp:totp:env:A":               "no key of another code",
		"totp:person:x":                 "a source is one of exec:",
		"git-credential:https://a%0Ab/": "needs a URL",
	} {
		if _, err := Parse(text, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) fails with %v, want %q", text, err, want)
		}
	}
}

// A helper that hangs is ended with all that it has started.
func TestHangs(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	s, err := Parse("exec:"+script(t, "sleep 1000 & echo $$ $! >"+pids+"; wait"), Options{Env: []string{"PATH"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for {
			if p, _ := os.ReadFile(pids); bytes.HasSuffix(p, []byte("\n")) {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := s.Fetch(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a helper that hangs fails with %v, want canceled", err)
	}
	p, _ := os.ReadFile(pids)
	for pid := range strings.FieldsSeq(string(p)) {
		for {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// RFC 6238, appendix B; and each code is given out once, never in the last second of its step.
func TestTOTP(t *testing.T) {
	key := map[string]string{
		"SHA1":   "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
		"SHA256": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====",
		"SHA512": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA=",
	}
	for _, tt := range []struct {
		at        int64
		hash, otp string
	}{
		{59, "SHA1", "94287082"}, {59, "SHA256", "46119246"}, {59, "SHA512", "90693936"},
		{1111111109, "SHA1", "07081804"}, {20000000000, "SHA1", "65353130"}, {20000000000, "SHA512", "47863826"},
	} {
		g, err := readGenerator([]byte("otpauth://totp/x?digits=8&algorithm=" + tt.hash + "&secret=" + key[tt.hash]))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(g.code(tt.at / 30)); got != tt.otp {
			t.Errorf("the code of %s at %d is %s, want %s", tt.hash, tt.at, got, tt.otp)
		}
	}
	synctest.Test(t, func(t *testing.T) { // from midnight, the begin of a step
		s, err := Parse("totp:env:KEY", Options{Lookup: variables(map[string]string{"KEY": "gezd gnbv gy3t qojq"})})
		if err != nil {
			t.Fatal(err)
		}
		var times []string
		seen := map[string]bool{}
		begin := time.Now()
		for range 3 {
			code, err := s.Fetch(t.Context())
			if err != nil || seen[string(code)] {
				t.Errorf("the code is %s, %v; want a new one", code, err)
			}
			seen[string(code)] = true
			times = append(times, time.Since(begin).String())
		}
		time.Sleep(29500 * time.Millisecond) // at 89.5 s
		_, _ = s.Fetch(t.Context())
		if got, want := fmt.Sprint(times, time.Since(begin)), "[0s 30s 1m0s] 1m30s"; got != want {
			t.Errorf("codes were given out at %s, want %s", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Fetch(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "due in 30s") {
			t.Errorf("a second code within a step fails with %v, want the time of the next one", err)
		}
	})
}

// Sources of the same key that share Codes give out no code twice, and sources of other keys do not wait for them.
func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Codes: new(Codes), Lookup: variables(map[string]string{"KEY": "gezd gnbv gy3t qojq", "OTHER": "gezd"})}
		begin := time.Now()
		var got []string
		for _, text := range []string{"totp:env:KEY", "totp:env:OTHER", "totp:env:KEY"} {
			s, err := Parse(text, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(begin).String())
		}
		if want := "[0s 0s 30s]"; fmt.Sprint(got) != want {
			t.Errorf("codes of a key, of another one and of the first were given out at %s, want %s", got, want)
		}
	})
}

// A keyring that cannot be reached says so, and one that never answers is not waited for.
func TestKeyring(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	s, err := Parse("keyring:web1/sudo", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "a server without a desktop session") {
		t.Errorf("a keyring without a session bus fails with %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions()
		free := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), Patience)
		defer cancel()
		_, err := q.ask(ctx, func() ([]byte, error) { <-free; return nil, nil })
		_, second := q.ask(ctx, func() ([]byte, error) { panic("a second question") })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(second, context.DeadlineExceeded) {
			t.Errorf("a keyring that never answers fails with %v and %v, want the deadline", err, second)
		}
		close(free)
	})
}
