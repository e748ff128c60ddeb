package session_test

import (
	"regexp"
	"strings"
	"testing"

	"ptyctl/session"
)

func TestNewID(t *testing.T) {
	shape := regexp.MustCompile(`^([a-z0-9](?:[a-z0-9.-]{0,22}[a-z0-9])?)-[a-z2-7]{8}$`)
	for host, want := range map[string]string{
		"web1":                           "web1",
		"WEB1.Example.com":               "web1.example.com",
		"a.very.long.host.name.example":  "a.very.long.host.name.ex",
		"twenty-three-characters.e.com":  "twenty-three-characters",
		"2001:db8::1":                    "2001-db8--1",
		"fe80::1%eth0":                   "fe80--1-eth0",
		"::1":                            "1",
		"::":                             "session",
		"":                               "session",
		"日本":                             "session",
		strings.Repeat("日", 30):          "session",
		"münchen":                        "m-nchen",
		"../../etc/passwd":               "etc-passwd",
		"a\x00b\nc":                      "a-b-c",
		"\xff\xfe":                       "session",
		"-rf":                            "rf",
		strings.Repeat(".", 40):          "session",
		strings.Repeat("-", 23) + "abcd": "a",
	} {
		id := session.NewID(host)
		if m := shape.FindStringSubmatch(id); m == nil || m[1] != want {
			t.Errorf("NewID(%q) = %q, want %s-xxxxxxxx", host, id, want)
		}
	}
	seen := make(map[string]bool)
	for range 10_000 {
		id := session.NewID("web1")
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
	}
}
