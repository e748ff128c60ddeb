package groups

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkWrite is one endless stream.
func BenchmarkWrite(b *testing.B) {
	block := []byte(strings.Repeat("Nov 26 04:30:14 web1 sshd[812]: Accepted publickey for root\n", 1000))
	for _, n := range []Normalize{None, Volatile} {
		b.Run(string(n), func(b *testing.B) {
			a := New(Options{Normalize: n}).Answer("web1")
			b.SetBytes(int64(len(block)))
			for b.Loop() {
				a.Stdout.Write(block) // its error is nil
			}
		})
	}
}

// BenchmarkReport is the report of 500 hosts with 500 different outputs.
func BenchmarkReport(b *testing.B) {
	set := New(Options{})
	for i := range 500 {
		a := set.Answer(fmt.Sprintf("web%03d", i))
		for j := range 200 {
			fmt.Fprintf(a.Stdout, "line %d of %d\n", j, i*(j%2))
		}
		a.Exit(0)
	}
	for b.Loop() {
		set.Report(Limits{})
	}
}
