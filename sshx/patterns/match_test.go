package patterns_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"ptyctl/sshx/patterns"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		s, pattern string
		want       bool
	}{
		{"", "", true},
		{"", "*", true},
		{"", "?", false},
		{"a", "", false},
		{"a", "?", true},
		{"ab", "a*b", true},
		{"aXbXc", "a*c", true},
		{"aXbXc", "a*b", false},
		{"abcbc", "a*bc", true},
		{"a.b", "a?b", true},
		{"A", "a", false},
		{"aaa", "**a**", true},
		{"*", "?", true},
		{"server", "server", true},
		{"server", "serve", false},
		{"server", "servers", false},
		{"server", "server*", true},
		{"server", "*server", true},
		{"server", "s*r", true},
		{"server", "s*x", false},
		{"server", "serve?", true},
		{"server", "server?", false},
		{"server", "??????", true},
		{"abcabc", "*abc", true},
		{"abcabd", "*abc", false},
		{"aab", "*ab", true},
		{"a.b.c", "*.*.c", true},
		{"[server]:22", "[server]:*", true},
		{"a", "**", true},
		{"a", "*?*", true},
		{"a", "*?*?*", false},
		{`a*`, `a\*`, false},
	} {
		if got := patterns.Match(tt.s, tt.pattern); got != tt.want {
			t.Errorf("%q against %q: %t", tt.s, tt.pattern, got)
		}
	}
	// A matcher that tries every split would not end here.
	if patterns.Match(strings.Repeat("a", 255), strings.Repeat("*a", 100)+"b") {
		t.Error("a hostile pattern matched")
	}
	// The reference is a regular expression, which is slower but obviously right.
	r := rand.New(rand.NewPCG(1, 2))
	random := func(letters string, most int) string {
		b := make([]byte, r.IntN(most))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 20_000 {
		s, pattern := random("ab", 8), random("ab*?", 6)
		expr := strings.NewReplacer("*", ".*", "?", ".").Replace(pattern)
		want := regexp.MustCompile("^(?:" + expr + ")$").MatchString(s)
		if got := patterns.Match(s, pattern); got != want {
			t.Fatalf("%q against %q: %t", s, pattern, got)
		}
	}
}

func TestMatchList(t *testing.T) {
	for _, tt := range []struct {
		s, list string
		want    bool
	}{
		{"a", "a,b", true},
		{"b", "a,b", true},
		{"c", "a,b", false},
		{"a", "!a,*", false},
		{"a", "*,!a", false},
		{"b", "*,!a", true},
		{"b", "!a", false},
		{"", "", true},
		{"a", "", false},
	} {
		if got := patterns.MatchList(tt.s, tt.list); got != tt.want {
			t.Errorf("%q against %q: %t", tt.s, tt.list, got)
		}
	}
}
