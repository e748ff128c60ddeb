package leaktest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Mark is part of every secret except keys, so that no output contains a secret by
// chance.
const Mark = "1138"

// Secret registers a text that no output may contain, and returns it.
func Secret(tb testing.TB, text string) string {
	tb.Helper()
	if len(join(text)) < shortest || !strings.Contains(text, Mark) {
		tb.Errorf("leaktest: %q could be anything: a secret has %d bytes or more, and %s in it", text, shortest, Mark)
		return text
	}
	keep.secret(tb, text)
	return text
}

// Auth registers the parts of a login that are not empty.
func Auth(tb testing.TB, password, privateKey, passphrase string) {
	tb.Helper()
	for _, text := range []string{password, privateKey, passphrase} {
		switch {
		case text == "":
		case strings.Contains(text, "-----BEGIN"):
			Key(tb, text)
		default:
			Secret(tb, text)
		}
	}
}

// oneTimeCode matches a code that is worthless afterwards, and that may occur in any log
// by chance.
var oneTimeCode = regexp.MustCompile(`^\d{6}[\r\n]*$`)

// Typed registers the secrets among the lines typed at once: those with the Mark. There
// must be one, unless the text is a one-time code.
func Typed(tb testing.TB, text string) {
	tb.Helper()
	var found bool
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if strings.Contains(line, Mark) {
			Secret(tb, line)
			found = true
		}
	}
	if !found && !oneTimeCode.MatchString(text) && strings.Trim(text, "\r\n") != "" {
		tb.Errorf("leaktest: no line of %q is a secret that could be told from other text: give it the mark %s", text, Mark)
	}
}

// Marked registers each word of a text, for example of a configuration, that ends in a
// dash and the Mark.
func Marked(tb testing.TB, text string) {
	tb.Helper()
	for _, word := range marked.FindAllString(text, -1) {
		Secret(tb, word)
	}
}

// marked matches the words for Marked.
var marked = regexp.MustCompile(`[\w-]+-` + Mark)

// Key registers each line of the private half of a PEM key, which may be encrypted or
// damaged, and returns the PEM text.
func Key(tb testing.TB, pem string) string {
	tb.Helper()
	var body []string
	for line := range strings.Lines(pem) {
		if line = strings.TrimSpace(line); len(line) >= shortest && !strings.ContainsAny(line, "-: ") {
			body = append(body, line)
		}
	}
	// The first half of OpenSSH's format has no private part; the public half also occurs
	// in the rest.
	var public string
	if signer, err := ssh.ParsePrivateKey([]byte(pem)); err == nil {
		public = base64.StdEncoding.EncodeToString(signer.PublicKey().Marshal())
	}
	for i, line := range body[len(body)/2:] {
		padding := i > 0 && len(line) < 32 // the last line may consist of padding
		if !padding && !strings.Contains(public, line) {
			keep.secret(tb, line)
		}
	}
	return pem
}

// Output registers an output of the tested code; name describes it.
func Output[T ~string | ~[]byte](tb testing.TB, name string, data T) {
	tb.Helper()
	keep.output(tb, name, []byte(data))
}

// File registers the content of a file at the end of the test, and of all files with
// names that begin with its name: for example the parts of a rotated log, or a whole
// folder if path ends in a slash. The files may be missing.
func File(tb testing.TB, path string) {
	tb.Helper()
	tb.Cleanup(func() {
		folder, name := filepath.Split(path)
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), name) || !e.Type().IsRegular() {
				continue
			}
			data, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if errors.Is(err, fs.ErrPermission) {
				continue // the test may be about a file without permissions
			} else if err != nil {
				tb.Errorf("leaktest: %v", err)
			}
			Output(tb, e.Name(), data)
		}
	})
}

// Writer returns a writer; its text at the end of the test is an output.
func Writer(tb testing.TB, name string) io.Writer {
	tb.Helper()
	w := new(writer)
	tb.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		Output(tb, name, w.buf.Bytes())
	})
	return w
}

// Log returns a logger for all levels; its text is an output.
func Log(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(Writer(tb, "log"), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// A writer is a buffer for any number of goroutines.
type writer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}
