package main

import (
	"errors"
	"strings"
	"testing"

	"ptyctl/internal/cli"

	"ptyctl/internal/direct"
)

// hostOf returns the host that a command's words name.
func hostOf(t *testing.T, words ...string) (h direct.Host, err error) {
	t.Helper()
	app := &cli.App{
		Name: "ptyctl", Flags: append(hostFlags(), &cli.StringFlag{Name: "user"}),
		Action: func(c *cli.Context) error {
			h, err = hostAt(c, c.Args().First())
			return nil
		},
	}
	if runErr := app.Run(append([]string{"ptyctl"}, words...)); runErr != nil {
		t.Fatal(runErr)
	}
	return h, err
}

func TestHostAt(t *testing.T) {
	for _, tt := range []struct {
		words string
		want  direct.Host
	}{
		{"web1", direct.Host{Protocol: "ssh", Host: "web1"}},
		{"alice@web1:2222", direct.Host{Protocol: "ssh", User: "alice", Host: "web1", Port: 2222}},
		{"ssh://alice@web1:2222", direct.Host{Protocol: "ssh", User: "alice", Host: "web1", Port: 2222}},
		{"telnet://sw1:2323", direct.Host{Protocol: "telnet", Host: "sw1", Port: 2323}},
		{"--protocol telnet telnet://sw1", direct.Host{Protocol: "telnet", Host: "sw1"}},
		{"-p 22 [::1]:22", direct.Host{Protocol: "ssh", Host: "::1", Port: 22}},
		{"-p 22 ::1", direct.Host{Protocol: "ssh", Host: "::1", Port: 22}},
	} {
		if got, err := hostOf(t, strings.Fields(tt.words)...); err != nil || got != tt.want {
			t.Errorf("%s = %+v, %v, want %+v", tt.words, got, err, tt.want)
		}
	}
	for words, part := range map[string]string{
		"-p 23 web1:22":                       "one port and --port another",
		"--user bob alice@web1":               "one user and --user another",
		"--protocol ssh telnet://sw1":         "one protocol and --protocol another",
		"http://web1":                         `scheme is "http"`,
		"alice@":                              "names no host",
		"ssh://alice:hunter2@web1":            "holds a password",
		"--protocol telnet admin:hunter2@sw1": "holds a password",
	} {
		_, err := hostOf(t, strings.Fields(words)...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), part) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want a usage error with %q", words, err, part)
		}
	}
}
