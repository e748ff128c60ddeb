package jsonrpc

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func FuzzBase64(f *testing.F) {
	data := make([]byte, 100)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	for n := range data {
		f.Add(data[:n], n, byte('\n'))
		f.Add(data[:n], n/2, byte('='))
		f.Add(data[:n], n/2, byte(0xff))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, c byte) {
		text := base64.StdEncoding.EncodeToString(data)
		if got := EncodeBase64(data); got != text {
			t.Errorf("EncodeBase64(%x) = %q, want %q", data, got, text)
		}
		at = max(0, min(at, len(text)))
		for _, s := range []string{
			text, string(data), text[:at], text[:at] + string(c) + text[at:], text[:at] + "\r\n" + text[at:] + string(c),
		} {
			got, err := DecodeBase64(s)
			want, wantErr := base64.StdEncoding.DecodeString(s)
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("DecodeBase64(%q) = %x, %v; want %x, %v", s, got, err, want, wantErr)
			}
		}
	})
}

// Every character at every place is taken or refused as by package encoding/base64.
func TestBase64Characters(t *testing.T) {
	for at := range 16 {
		for c := range 256 {
			s := []byte(strings.Repeat("QUJD", 4))
			s[at] = byte(c)
			got, err := DecodeBase64(string(s))
			want, wantErr := base64.StdEncoding.DecodeString(string(s))
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("DecodeBase64(%q) = %x, %v; want %x, %v", s, got, err, want, wantErr)
			}
		}
	}
}

// A MiB in base64 beside package encoding/base64, which is the old way.
func BenchmarkBase64(b *testing.B) {
	data := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	text := EncodeBase64(data)
	for _, way := range []struct {
		name string
		f    func()
	}{
		{"encode/old", func() { base64.StdEncoding.Encode(make([]byte, base64.StdEncoding.EncodedLen(len(data))), data) }},
		{"encode/new", func() { EncodeBase64(data) }},
		{"decode/old", func() { _, _ = base64.StdEncoding.DecodeString(text) }},
		{"decode/new", func() { _, _ = DecodeBase64(text) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				way.f()
			}
		})
	}
}
