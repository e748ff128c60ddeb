package destination

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Destination
	}{
		{"web1", Destination{Host: "web1"}},
		{" web1 ", Destination{Host: "web1"}},
		{"web1:22", Destination{Host: "web1", Port: 22}},
		{"alice@web1", Destination{User: "alice", Host: "web1"}},
		{"alice@web1:2222", Destination{User: "alice", Host: "web1", Port: 2222}},
		{"alice@example.net@web1", Destination{User: "alice@example.net", Host: "web1"}},
		{`CORP\alice@web1`, Destination{User: `CORP\alice`, Host: "web1"}},
		{"10.0.0.1:23", Destination{Host: "10.0.0.1", Port: 23}},
		{"::1", Destination{Host: "::1"}},
		{"fe80::1%eth0", Destination{Host: "fe80::1%eth0"}},
		{"[::1]", Destination{Host: "::1"}},
		{"[::1]:2222", Destination{Host: "::1", Port: 2222}},
		{"alice@[fe80::1%eth0]:22", Destination{User: "alice", Host: "fe80::1%eth0", Port: 22}},
		{"alice@::1", Destination{User: "alice", Host: "::1"}},
		{"ssh://web1", Destination{Protocol: "ssh", Host: "web1"}},
		{"SSH://alice@web1:22/", Destination{Protocol: "ssh", User: "alice", Host: "web1", Port: 22}},
		{"ssh://[2001:db8::1]:22", Destination{Protocol: "ssh", Host: "2001:db8::1", Port: 22}},
		{"telnet://sw1:2323", Destination{Protocol: "telnet", Host: "sw1", Port: 2323}},
	} {
		if got, err := Parse(tt.text); err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, part := range map[string]string{
		"":                    "names no host",
		"alice@":              "names no host",
		"@web1":               "before its @",
		":22":                 "names no host",
		"web1:":               `port is ""`,
		"web1:ssh":            `port is "ssh"`,
		"web1:0":              `port is "0"`,
		"web1:65536":          `port is "65536"`,
		"http://web1":         `scheme is "http"`,
		"ssh://web1/etc":      "more than a user",
		"ssh://web1?x=1":      "more than a user",
		"[web1]:22":           "brackets",
		"[::1":                "brackets",
		"[::1]22":             "brackets",
		"[10.0.0.1]":          "brackets",
		"ssh://alice:pw@web1": "password",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Parse(%q) = %+v, %v, want an error with %q", text, got, err, part)
		}
	}
}

// No error shows a password, wherever the wrong part is.
func TestParseKeepsPasswords(t *testing.T) {
	for _, text := range []string{
		"alice:hunter2@web1", "ssh://alice:hunter2@web1:22", "ssh://alice:hunter2@web1:99999", "ssh://alice:hunter2@",
		"ssh://alice:hunter2/x@web1", "ftp://alice:hunter2@web1", "ssh://:hunter2@web1", "alice:hunter2@b@web1:x",
	} {
		_, err := Parse(text)
		if !errors.Is(err, ErrPassword) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%q): error %v, want ErrPassword", text, err)
		}
	}
}
