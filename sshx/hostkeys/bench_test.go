package hostkeys

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"
)

// tenThousand returns a large file with the host in its last line.
func tenThousand(b *testing.B, name func(string) string) string {
	var lines strings.Builder
	k := keys()
	for i := range 9999 {
		key := k.otherRSA
		if i%2 == 0 {
			key = k.otherEd
		}
		fmt.Fprintf(&lines, "%s %s\n", name(fmt.Sprintf("host%d.example.org", i)), text(key))
	}
	return writeLines(b, lines.String()+name("server")+" "+text(k.ed))
}

func BenchmarkOpen10kLines(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(string) string
	}{{"plain", func(s string) string { return s }}, {"hashed", knownhosts.HashHostname}} {
		b.Run(c.name, func(b *testing.B) {
			o := Options{UserFiles: []string{tenThousand(b, c.f)}}
			b.ReportAllocs()
			for b.Loop() {
				v, err := NewVerifier("server", 22, nil, o)
				if err != nil || len(v.known.record.name) != 1 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup10kLines(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(string) string
	}{{"plain", func(s string) string { return s }}, {"hashed", knownhosts.HashHostname}} {
		b.Run(c.name, func(b *testing.B) {
			db, err := readDatabase([]string{tenThousand(b, c.f)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if len(db.lookup("server")[0]) != 1 {
					b.Fatal("not found")
				}
			}
		})
	}
}

// BenchmarkVerifyAgain measures a later key exchange on the same connection.
func BenchmarkVerifyAgain(b *testing.B) {
	v := verifier(b, 22, Options{}, "server "+text(keys().ed))
	b.ReportAllocs()
	for b.Loop() {
		if err := verify(b, v, keys().ed); err != nil {
			b.Fatal(err)
		}
	}
}
