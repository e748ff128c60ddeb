package hostkeys

import (
	"fmt"
	"runtime"
	"testing"
)

// Verifiers keep the lines about their hosts, and not the files: connections to as many hosts as a file has lines would
// take the square of that in memory.
func TestVerifierKeepsNoFile(t *testing.T) {
	const (
		hosts = 2000
		most  = 2 << 20
	)
	k := keys()
	var lines []string
	for i := range hosts {
		lines = append(lines, fmt.Sprintf("host%d %s", i, text(k.ed)))
	}
	o := Options{UserFiles: []string{writeLines(t, lines...)}, Policy: Strict}
	kept := make([]*Verifier, 50)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		v, err := NewVerifier(fmt.Sprint("host", i), 22, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(t, v, k.ed); err != nil {
			t.Fatalf("the key of host%d is on record: %v, want no error", i, err)
		}
		kept[i] = v
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > most {
		t.Errorf("%d verifiers of a file with %d lines take %d bytes, want at most %d", len(kept), hosts, grown, most)
	}
	runtime.KeepAlive(kept)
}
