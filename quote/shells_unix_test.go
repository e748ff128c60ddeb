//go:build unix

package quote_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptyctl/quote"
)

// shells are programs of each class, with the arguments that come before a command line.
var shells = []struct {
	class string
	argv  []string
}{
	{quote.Posix, []string{"bash", "-c"}},
	{quote.Posix, []string{"dash", "-c"}},
	{quote.Posix, []string{"zsh", "-f", "-c"}},
	{quote.Posix, []string{"mksh", "-c"}},
	{quote.Posix, []string{"ksh93", "-c"}},
	{quote.Posix, []string{"busybox", "sh", "-c"}},
	{quote.Fish, []string{"fish", "-N", "-c"}},
	{quote.Csh, []string{"tcsh", "-f", "-c"}},
}

// characters are special in some shell, apart from a few others.
const characters = "''\\\\!!\"$`*?[]{}()<>|&;#~=^%-+@ \t\n\ra1é,.:/\u2028\u00a0"

// TestShells lets real shells pass on random words, which must arrive unchanged.
func TestShells(t *testing.T) {
	bin := t.TempDir()
	recorder := "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\0' \"$a\"; done\n"
	path := filepath.Join(bin, "recorder")
	if err := os.WriteFile(path, []byte(recorder), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
	t.Logf("seed %d", seed)
	runes := []rune(characters)
	for range 60 {
		words := []string{"recorder"}
		for range 4 {
			var w strings.Builder
			for range rnd.IntN(10) {
				w.WriteRune(runes[rnd.IntN(len(runes))])
			}
			words = append(words, w.String())
		}
		want := strings.Join(words[1:], "\x00") + "\x00"
		for _, sh := range shells {
			line, err := quote.Line(sh.class, words)
			if err != nil {
				t.Fatalf("Line(%s, %q): %v", sh.class, words, err)
			}
			cmd := exec.CommandContext(t.Context(), sh.argv[0], append(sh.argv[1:len(sh.argv):len(sh.argv)], line)...)
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin, "LANG=C.UTF-8"}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if got, err := cmd.Output(); err != nil || string(got) != want {
				t.Errorf("%s reads %s as %q (%v, %s), want %q", sh.argv[0], line, got, err, stderr.String(), want)
			}
		}
	}
}
