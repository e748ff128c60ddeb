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

// Mark is part of every secret but keys, so that none is a word that an output might hold by chance.
const Mark = "1138"

// Secret registers text that no output may hold, and returns it.
func Secret(tb testing.TB, text string) string {
	tb.Helper()
	if len(join(text)) < shortest || !strings.Contains(text, Mark) {
		tb.Errorf("leaktest: %q could be anything: a secret has %d bytes or more, and %s in it", text, shortest, Mark)
		return text
	}
	keep.secret(tb, text)
	return text
}

// Auth registers the parts of a login that are given.
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

// A one-time code is worth nothing when its log is read, and its digits stand in any log by chance.
var oneTimeCode = regexp.MustCompile(`^\d{6}[\r\n]*$`)

// Typed registers the secrets among the lines that are typed at once: those with the Mark, of which there must be one, but
// for a one-time code.
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

// Marked registers each word of a text, such as a configuration, that ends in a dash and the Mark.
func Marked(tb testing.TB, text string) {
	tb.Helper()
	for _, word := range marked.FindAllString(text, -1) {
		Secret(tb, word)
	}
}

var marked = regexp.MustCompile(`[\w-]+-` + Mark)

// Key registers each line of the private half of a key in PEM, which may be encrypted or garbled, and returns the PEM
// text.
func Key(tb testing.TB, pem string) string {
	tb.Helper()
	var body []string
	for line := range strings.Lines(pem) {
		if line = strings.TrimSpace(line); len(line) >= shortest && !strings.ContainsAny(line, "-: ") {
			body = append(body, line)
		}
	}
	// The first lines of OpenSSH's format say what it is, and the public half. That stands among the others once more.
	var public string
	if signer, err := ssh.ParsePrivateKey([]byte(pem)); err == nil {
		public = base64.StdEncoding.EncodeToString(signer.PublicKey().Marshal())
	}
	for i, line := range body[len(body)/2:] {
		padding := i > 0 && len(line) < 32 // the last line may hold little else
		if !padding && !strings.Contains(public, line) {
			keep.secret(tb, line)
		}
	}
	return pem
}

// Output registers what the tested code has put out; name says what of the test it is.
func Output[T ~string | ~[]byte](tb testing.TB, name string, data T) {
	tb.Helper()
	keep.output(tb, name, []byte(data))
}

// File registers what a file holds at the end of the test, and the others whose names begin with its own: the parts of a
// log that was rotated, or the files of a folder if path ends in a slash. None need be there.
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
				continue // the tester may be nobody special, and the test about that
			} else if err != nil {
				tb.Errorf("leaktest: %v", err)
			}
			Output(tb, e.Name(), data)
		}
	})
}

// Writer returns a writer whose text is an output at the end of the test.
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

// Log returns a logger of all levels whose text is an output.
func Log(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(Writer(tb, "log"), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type writer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}
