package main

import "testing"

func TestText(t *testing.T) {
	r := newRenamer("ptyctl", "example.org/team/ptyctl", []string{"ptyctl", "ptyctl/session", "ptyctl/config", "ptyctl/session/keys", "ptyctl/cmd/ptyctl"})
	for text, want := range map[string]string{
		`import "ptyctl/session/keys"`:                     `import "example.org/team/ptyctl/session/keys"`,
		"ptyctl/session\nptyctl/config":                    "example.org/team/ptyctl/session\nexample.org/team/ptyctl/config",
		"[$gostd, ptyctl/session$]":                        "[$gostd, example.org/team/ptyctl/session$]",
		"ptyctl/session/...":                               "example.org/team/ptyctl/session/...",
		"ptyctl/session.(*Session).pump":                   "example.org/team/ptyctl/session.(*Session).pump",
		"go vet ptyctl/cmd":                                "go vet example.org/team/ptyctl/cmd",
		"`go install ptyctl/cmd/ptyctl@latest`":            "`go install example.org/team/ptyctl/cmd/ptyctl@latest`",
		"require ptyctl v0.0.0\nreplace ptyctl => ../p":    "require example.org/team/ptyctl v0.0.0\nreplace example.org/team/ptyctl => ../p",
		"require (\n\tptyctl v0.0.0\n)":                    "require (\n\texample.org/team/ptyctl v0.0.0\n)",
		"goimports -local ptyctl -w":                       "goimports -local example.org/team/ptyctl -w",
		"~/.config/ptyctl/config.toml":                     "~/.config/ptyctl/config.toml",
		"below ptyctl/config.toml":                         "below ptyctl/config.toml",
		"/run/user/1000/ptyctl/session":                    "/run/user/1000/ptyctl/session",
		"./cmd/ptyctl/config":                              "./cmd/ptyctl/config",
		"ptyctl/devices":                                   "ptyctl/devices",
		"myptyctl/session, ptyctl session, ptyctl/":        "myptyctl/session, ptyctl session, ptyctl/",
		"user.local ptyctl/" + "sessions, ptyctl/session2": "user.local ptyctl/sessions, ptyctl/session2",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	once := r.text(`"ptyctl/session" -local ptyctl`)
	if twice := newRenamer("example.org/team/ptyctl", "ptyctl", []string{"example.org/team/ptyctl/session"}).text(once); twice != `"ptyctl/session" -local ptyctl` {
		t.Errorf("and back: %q", twice)
	}
}
