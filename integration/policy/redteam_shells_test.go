//go:build unix

package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/shelltest"
)

// labCanary is the canary on the far side; its mark says whom it ran as.
const (
	labCanary = "/run/lab/canary"
	labMarks  = "/run/lab/marks"
)

// A redShell is an account with a login shell, and an agent logged in to it.
type redShell struct {
	*lab.Namespace
	*lab.Client
	sh   lab.LoginShell
	port int
	id   string
}

// canaryRan reports whether the account has run the canary since it was asked last.
func (r *redShell) canaryRan(tb testing.TB) bool {
	tb.Helper()
	return r.Run(tb, fmt.Sprintf("if [ -e %[1]s/%[2]s ]; then rm -f %[1]s/%[2]s; echo ran; fi", labMarks, r.sh.Name)) != ""
}

// login opens a session, in place of the one before.
func (r *redShell) login(tb testing.TB) {
	tb.Helper()
	if r.id != "" {
		attempt(tb, r.Tools, lab.ToolSession, `{"action":"close","session_id":%s,"force":true}`, r.id)
	}
	r.id = r.Call(tb, lab.ToolSession, lab.OpenSSH, r.port, r.sh.Name).SessionID
	r.Call(
		tb,
		lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"[$%%>#] ","timeout_ms":20000}`,
		r.id,
	)
}

// usable makes sure that the session's shell can run a command, or logs in again: a bypass leaves shells in odd states.
func (r *redShell) usable(tb testing.TB) {
	tb.Helper()
	if text := attempt(
		tb, r.Tools, lab.ToolExec, `{"session_id":%s,"cmd":"echo usable","lane":"terminal","timeout_ms":2000}`, r.id,
	); !strings.Contains(
		text,
		`usable\n`,
	) {
		r.login(tb)
	}
}

// TestRedTeamShells: with an allow list of harmless readers, no line that an agent has run on either lane, in whatever
// form it asks for, and whatever the login shell is, runs anything else.
func TestRedTeamShells(t *testing.T) {
	t.Parallel()
	l := lab.StartShells(t)
	l.Run(
		t,
		fmt.Sprintf(
			"mkdir -m 1777 %[1]s\ncat >%[2]s <<'end'\n#!/bin/sh\necho >%[1]s/$(id -un)\nend\nchmod 755 %[2]s",
			labMarks,
			labCanary,
		),
	)
	lines := append(
		redTeamLines(shelltest.Bypasses, labCanary),
		redTeamLines(map[string][]string{"": shelltest.Typed}, labCanary)...)
	for i, sh := range lab.LoginShells {
		if sh.Name == "rbash" {
			continue // is bash
		}
		t.Run(sh.Name, func(t *testing.T) {
			t.Parallel()
			h := lab.NewHome(t, "[policy]", readers)
			h.Trust(t, l.Server.Known())
			key := h.Dir + "/id"
			h.Write(t, key, l.Users[sh.Name].Key.PEM)
			h.Write(t, h.SSHConfig, "IdentityAgent none\nIdentityFile "+key+"\n")
			r := &redShell{Namespace: l.Namespace, Client: h.Connect(t), sh: sh, port: l.Server.Port}
			r.login(t)
			forms := []struct{ name, more string }{
				{"channel", `"lane":"channel"`},
				{"terminal", `"lane":"terminal"`},
				{"terminal, claimed posix", `"lane":"terminal","class":"posix"`},
				{"terminal, claimed fish", `"lane":"terminal","class":"fish"`},
				{"terminal, claimed csh", `"lane":"terminal","class":"csh"`},
				{"terminal, claimed device", `"lane":"terminal","class":"device","expect":{"prompt_regex":"[$%%>#] $"}`},
				{"terminal, claimed unknown", `"lane":"terminal","class":"unknown","expect":{"prompt_regex":"[$%%>#] $"}`},
				{"terminal, no marker", `"lane":"terminal","rc_mode":{"enabled":false},"expect":{"prompt_regex":"[$%%>#] $"}`},
			}
			// Each of a caller's forms is tried in two shells or more.
			forms = slices.Concat(forms[:2], lab.Sample(forms[2:], 3, i))
			for n, form := range forms {
				list := lines
				if n > 1 { // a form that the caller chooses: the rules judge the same text, but the typed text differs
					list = redTeamLines(
						map[string][]string{
							"":     shelltest.Typed,
							"csh":  shelltest.Bypasses["csh's quotes and words"],
							"fish": shelltest.Bypasses["fish's words"],
						},
						labCanary,
					)
				}
				refused := 0
				for _, line := range list {
					text := attempt(
						t,
						r.Tools,
						lab.ToolExec,
						`{"session_id":%s,"cmd":%s,"timeout_ms":1000,`+form.more+`}`,
						r.id,
						line,
					)
					if strings.Contains(text, "POLICY_DENIED") {
						refused++
						continue
					}
					if strings.Contains(text, "BUSY") {
						r.login(t)
						text = attempt(
							t,
							r.Tools,
							lab.ToolExec,
							`{"session_id":%s,"cmd":%s,"timeout_ms":1000,`+form.more+`}`,
							r.id,
							line,
						)
					}
					if r.canaryRan(t) {
						t.Errorf("%s: the canary ran: %q: %.200s", form.name, line, text)
					}
					if n > 0 {
						r.usable(t)
					}
				}
				if refused < 5 {
					t.Errorf("%s: %d lines were refused", form.name, refused)
				}
			}
			r.arguments(t)
			if r.canaryRan(t) {
				t.Error("the canary ran later")
			}
			wantRefusals(t, h, "exec", 50)
		})
	}
}

// arguments tries the arguments of an exec other than the command: the folder, the environment and the input.
func (r *redShell) arguments(t *testing.T) {
	t.Helper()
	inject := []string{
		"'; " + labCanary + "; '",
		"$(" + labCanary + ")",
		"`" + labCanary + "`",
		"/tmp\n" + labCanary + "\n",
		"\\'; " + labCanary + "; '",
		`"; ` + labCanary + `; "`,
		"/tmp; " + labCanary,
		"(" + labCanary + ")",
		"!" + labCanary,
	}
	for _, lane := range []string{"channel", "terminal"} {
		for _, text := range inject {
			for _, more := range []string{
				`"cmd":"ls","cwd":%s`, `"cmd":"ls","env":["TERM=%s"]`, `"cmd":"ls","env":["LC_ALL=%s"]`,
				`"cmd":"ls","env":["PROMPT_COMMAND=%s"]`, `"cmd":"ls","env":["PS1=%s"]`, `"cmd":"ls","env":["A%s=b"]`,
				`"cmd":"cat","stdin":%s`,
			} {
				quoted := fmt.Sprintf("%q", text)
				if strings.Contains(more, `env`) {
					quoted = strings.Trim(quoted, `"`)
				}
				arguments := fmt.Sprintf(
					`{"session_id":%q,"lane":%q,"timeout_ms":1000,`,
					r.id,
					lane,
				) + strings.Replace(
					more,
					"%s",
					quoted,
					1,
				) + "}"
				answer := attemptRaw(t, r.Tools, lab.ToolExec, arguments)
				if strings.Contains(answer, "POLICY_DENIED") || strings.Contains(answer, "INVALID_ARGUMENT") {
					continue
				}
				if r.canaryRan(t) {
					t.Errorf("the canary ran: %s: %.200s", arguments, answer)
				}
				r.usable(t)
			}
		}
	}
}
