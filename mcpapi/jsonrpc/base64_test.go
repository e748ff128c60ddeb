package jsonrpc

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// wantBase64 fails the test unless text is decoded as package encoding/base64 does.
func wantBase64(t *testing.T, text string) {
	t.Helper()
	got, err := FromBase64(text)
	want, wantErr := base64.StdEncoding.DecodeString(text)
	if !bytes.Equal(got, want) || !reflect.DeepEqual(err, wantErr) {
		t.Fatalf("of %d characters: %d bytes, %v; want %d bytes (the same: %v), %v",
			len(text), len(got), err, len(want), bytes.Equal(got, want), wantErr)
	}
}

// randomBytes returns n bytes.
func randomBytes(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// All lengths give the text of package encoding/base64, and back the bytes.
func TestBase64(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3 << 10 {
		p := randomBytes(r, n)
		text := Base64(p)
		if want := base64.StdEncoding.EncodeToString(p); text != want {
			t.Fatalf("%d bytes: %s, want %s", n, text, want)
		}
		wantBase64(t, text)
	}
}

// Each byte at each of some places gives the result of package encoding/base64: line ends, padding and faults.
func TestFromBase64(t *testing.T) {
	text := []byte(Base64(randomBytes(rand.New(rand.NewPCG(3, 4)), 1<<10)))
	for _, from := range []int{0, 640, len(text) - 20} {
		for at := from; at < from+20; at++ {
			kept := text[at]
			for c := range 256 {
				text[at] = byte(c)
				wantBase64(t, string(text))
			}
			text[at] = kept
		}
	}
	for n := range 20 {
		wantBase64(t, string(text[:len(text)-n]))
		wantBase64(t, string(text)+strings.Repeat("=", n))
		wantBase64(t, string(text)+strings.Repeat("\r\n", n))
	}
	var lines strings.Builder // as base64(1) writes
	for part := string(text); part != ""; {
		n := min(len(part), 76)
		lines.WriteString(part[:n] + "\n")
		part = part[n:]
	}
	wantBase64(t, lines.String())
}

func FuzzBase64(f *testing.F) {
	f.Add([]byte("ZXJyCg=="), uint16(700))
	f.Add([]byte("\r\n"), uint16(512))
	f.Add([]byte("====!"), uint16(1300))
	full := Base64(randomBytes(rand.New(rand.NewPCG(5, 6)), 2<<10))
	f.Fuzz(func(t *testing.T, p []byte, at uint16) {
		if got, want := Base64(append([]byte(full), p...)), base64.StdEncoding.EncodeToString(append([]byte(full), p...)); got != want {
			t.Fatalf("Base64 of %q at the end is %q, want %q", p, got[len(full):], want[len(full):])
		}
		i := min(int(at), len(full))
		wantBase64(t, full[:i]+string(p)+full[i:])
	})
}

// BenchmarkBase64 compares this package with encoding/base64 ("old"), on a MiB.
func BenchmarkBase64(b *testing.B) {
	p := randomBytes(rand.New(rand.NewPCG(7, 8)), 1<<20)
	text := Base64(p)
	for name, f := range map[string]func(){
		"encode/old": func() { base64.StdEncoding.EncodeToString(p) }, "encode/new": func() { Base64(p) },
		"decode/old": func() { _, _ = base64.StdEncoding.DecodeString(text) }, "decode/new": func() { _, _ = FromBase64(text) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				f()
			}
		})
	}
}
