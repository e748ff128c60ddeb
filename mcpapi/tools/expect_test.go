package tools_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/schema"
	"ptyctl/profile"
	"ptyctl/session"
	"ptyctl/term"
)

// device is the command line of a router. It runs no commands beside its terminal.
func device(_ context.Context, r *sshserver.Request) sshserver.Exit {
	if !r.Shell {
		return sshserver.Exit{Status: 99}
	}
	in := bufio.NewReader(r.Stdin)
	for {
		fmt.Fprint(r.Stdout, "r1#")
		line, err := in.ReadString('\r')
		if err != nil {
			return sshserver.Exit{}
		}
		fmt.Fprint(r.Stdout, strings.TrimSuffix(line, "\r"), "\r\n")
		switch line {
		case "show log\r":
			for i := range 3 {
				if i > 0 {
					fmt.Fprint(r.Stdout, " --More-- ")
					if _, err := in.ReadByte(); err != nil {
						return sshserver.Exit{}
					}
					fmt.Fprint(r.Stdout, "\r          \r")
				}
				fmt.Fprintf(r.Stdout, "line %d\r\n", i)
			}
		default:
			fmt.Fprint(r.Stdout, "% Invalid input detected at '^' marker.\r\n")
		}
	}
}

// A profile gives a session on a device its class, prompt, pager and errors, over SSH too; and pages are turned if the
// caller wants it.
func TestProfile(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: device}})
	l.Open(`,"expect":{"profile":"cisco_ios"}`)
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.Profile != "cisco_ios" {
		t.Errorf("status: %s", r.Text)
	}
	ios, _ := profile.Get("cisco_ios")
	r := l.OK(mcptest.ConfigTool, `{"action":"get","session_id":"$S"}`)
	if x := r.Expect; x.Profile != "cisco_ios" || x.Class != session.ClassDevice ||
		x.Prompt != ios.Prompt.Regex.String() ||
		len(x.Pagers) != len(ios.Pagers) ||
		len(x.Errors) != len(ios.Errors) ||
		len(x.PagingOff) != 2 ||
		x.PagingOff[0] != "terminal length 0" ||
		x.AutoPage != nil {
		t.Errorf("get: %s", r.Text)
	}

	// Even the first command is typed in the terminal, because this is a device.
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"shw"}`)
	if r.ExecLane != "terminal" || r.DoneReason != "prompt_seen" || *r.ExitCodeReason != "no_status" ||
		len(r.ErrorHints) != 1 ||
		r.ErrorHints[0] != "% Invalid input detected at '^' marker." {
		t.Errorf("exec of shw on a device: %s; want prompt_seen, no_status, one error hint", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"show log"}`)
	if r.DoneReason != "running" || !strings.Contains(string(r.Members["waiting_for"]), `"kind":"pager"`) ||
		r.Members["pages"] != nil {
		t.Fatalf("without auto_page: %s", r.Text)
	}
	l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"  ","until_regex":"line 2\\s+r1#$","timeout_ms":10000}`)
	if r = l.OK(mcptest.ExecTool, `{"session_id":"$S","exec_id":"`+r.ExecID+`"}`); r.DoneReason != "prompt_seen" {
		t.Errorf("exec after the pages were turned: %s; want prompt_seen", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"show log","expect":{"auto_page":{}}}`)
	if r.DoneReason != "prompt_seen" || string(r.Members["pages"]) != "2" || r.Stdout != "line 0\nline 1\nline 2\n" {
		t.Errorf("with auto_page: %s", r.Text)
	}
	r = l.OK(mcptest.ExecTool, `{"session_id":"$S","cmd":"show log","expect":{"auto_page":{"key":"enter","max_pages":1}}}`)
	if r.DoneReason != "running" || string(r.Members["pages"]) != "1" ||
		!strings.HasSuffix(r.Stdout, "line 1\n --More-- ") {
		t.Errorf("bounded: %s", r.Text)
	}
}

// A pattern in the call overrides the profile's pattern, independently of the others.
func TestProfileOverridden(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: device}})
	l.Open("")
	set := func(args string) mcptest.Patterns {
		t.Helper()
		return l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":`+args+`}`).Expect
	}
	frr, _ := profile.Get("frr")
	posix, _ := profile.Get("posix")
	if x := set(`{"profile":"frr","pager_regexes":["more"],"auto_page":{"key":"q","max_pages":7}}`); x.Profile != "frr" ||
		x.Prompt != frr.Prompt.Regex.String() ||
		len(x.Pagers) != 1 ||
		x.Pagers[0] != "more" ||
		len(x.Errors) != len(frr.Errors) ||
		x.AutoPage == nil ||
		*x.AutoPage != (mcptest.AutoPager{Key: "q", Max: 7}) {
		t.Errorf("profile frr with own pager = %+v, want its prompt and errors, pager more, key q, 7 pages", x)
	}
	if x := set(`{"prompt_regex":"ready>$"}`); x.Profile != "frr" || x.Class != session.ClassDevice ||
		x.Prompt != "ready>$" ||
		x.Pagers[0] != "more" ||
		x.AutoPage == nil {
		t.Errorf("a pattern alone: %+v", x)
	}
	if x := set(`{"auto_page":{"max_pages":0}}`); x.AutoPage != nil {
		t.Errorf("turned off: %+v", x)
	}
	if x := set(`{"profile":"posix"}`); x.Profile != "posix" || x.Class != session.ClassPosix ||
		x.Prompt != posix.Prompt.Regex.String() ||
		len(x.Pagers) != len(posix.Pagers) {
		t.Errorf("another: %+v", x)
	}
}

func TestProfileWrong(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: device}})
	l.Open("")
	for _, tt := range []struct{ expect, field, part string }{
		{`{"profile":"cisco"}`, "expect.profile", "arista_eos, aruba_aoscx, cisco_asa,"},
		{`{"profile":"CISCO_OIS"}`, "expect.profile", "posix, u_boot, vyos"},
		{`{"auto_page":{}}`, "expect.auto_page", "profile or pager_regexes"},
		{`{"profile":"frr","pager_regexes":[],"auto_page":{}}`, "expect.auto_page", "profile or pager_regexes"},
		{`{"profile":"frr","auto_page":{"key":"y"}}`, "expect.auto_page.key", "space, enter, q"},
		{`{"profile":"frr","auto_page":{"max_pages":10001}}`, "expect.auto_page.max_pages", "between 0 and 10000"},
		{`{"profile":"frr","auto_page":{"pages":1}}`, "expect.auto_page.pages", "key, max_pages"},
	} {
		for tool, call := range map[string]string{
			mcptest.SessionTool: l.OpenArgs(`,"expect":` + tt.expect),
			mcptest.ExecTool:    `{"session_id":"$S","cmd":"show log","expect":` + tt.expect + `}`,
			mcptest.ConfigTool:  `{"action":"expect","session_id":"$S","expect":` + tt.expect + `}`,
		} {
			tt := tt
			if tool == mcptest.SessionTool && strings.Contains(tt.field, "auto_page") { // it is no argument of open's
				tt.field, tt.part = "expect.auto_page", "ptyctl_session_exec take it"
			}
			r := l.Fails(tool, call, term.InvalidArgument, tt.part)
			if r.Details.Field != tt.field {
				t.Errorf("%s %s: field %q, want %q", tool, tt.expect, r.Details.Field, tt.field)
			}
		}
	}
	if r := l.OK(mcptest.SessionTool, `{"action":"status","session_id":"$S"}`); r.Session.Profile != "" ||
		r.Session.BytesOut != 0 {
		t.Errorf("status after refused patterns: %s; want no profile and nothing typed", r.Text)
	}
	// Pages may be turned for one command if the session knows the pager.
	l.OK(mcptest.ConfigTool, `{"action":"expect","session_id":"$S","expect":{"pager_regexes":["More"]}}`)
	if r := l.OK(mcptest.ExecTool,
		`{"session_id":"$S","cmd":"show log","class":"device","lane":"terminal","expect":{"auto_page":{}}}`); string(
		r.Members["pages"],
	) != "2" {
		t.Errorf("exec of show log with auto_page: %s; want 2 pages", r.Text)
	}
	// Every profile can be named.
	for _, name := range profile.Names() {
		if x := l.OK(mcptest.ConfigTool,
			`{"action":"expect","session_id":"$S","expect":{"profile":"`+name+`"}}`).Expect; x.Profile != name {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// The pagers of this machine.
func TestAutoPageReal(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "%*sline %d\n", i%4, "", i)
		if i%23 == 0 {
			want.WriteByte('\n')
		}
	}
	file := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(file, []byte(want.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Open(`,"pty":{"cols":80,"rows":24},"expect":{"profile":"posix"}`)
	r := l.OK(mcptest.ExecTool, `{"session_id":"$S","lane":"terminal","cmd":"more `+file+`","expect":{"auto_page":{}}}`)
	if r.ExitCode == nil || *r.ExitCode != 0 || len(r.Members["pages"]) == 0 ||
		strings.TrimRight(r.Stdout, "\n") != strings.TrimRight(want.String(), "\n") {
		t.Errorf("exec of more with auto_page: %s; want code 0, pages, the whole file", r.Text)
	}
	// less as it is set to page on the main screen; it ends with (END).
	r = l.OK(
		mcptest.ExecTool,
		`{"session_id":"$S","lane":"terminal","cmd":"cat `+file+` | less -X","expect":{"auto_page":{}}}`,
	)
	if r.ExitCode == nil || *r.ExitCode != 0 || len(r.Members["pages"]) == 0 {
		t.Errorf("exec of less -X with auto_page: %s; want code 0 and pages", r.Text)
	}
	for i := range 200 {
		if !strings.Contains(r.Stdout, fmt.Sprintf("line %d\n", i)) {
			t.Errorf("less: line %d is missing", i)
		}
	}
}

// Every argument that is a pattern is bounded.
func TestRegexpRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{Handler: mcptest.Echo}})
	l.Open("")
	large := strings.Repeat("x{0,1000}", 455)
	for field, arguments := range map[string]string{
		"until_regex":                     `"action":"read","until_regex":"` + large + `"`,
		"input_hints.wait_for_regexes[1]": `"action":"read","input_hints":{"wait_for_regexes":["ok","` + large + `"]}`,
		"input_hints.wait_for_regexes":    `"action":"read","input_hints":{"wait_for_regexes":["a"` + strings.Repeat(`,"a"`, schema.MaxPatterns) + `]}`,
	} {
		if r := l.Fails(mcptest.IOTool, `{"session_id":"$S",`+arguments+`}`, term.InvalidArgument,
			field); r.Details.Field != field {
			t.Errorf("%s: %s", field, r.Text)
		}
	}
	for field, member := range map[string]string{
		"expect.prompt_regex":     `"prompt_regex":"` + large + `"`,
		"expect.pager_regexes[0]": `"pager_regexes":["` + large + `"]`,
	} {
		if r := l.Fails(mcptest.ExecTool, `{"session_id":"$S","cmd":"true","expect":{`+member+`}}`, term.InvalidArgument,
			"shorten the repeat counts"); r.Details.Field != field {
			t.Errorf("%s: %s", field, r.Text)
		}
	}
}
