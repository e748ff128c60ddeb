package tools_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/png"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
	"ptyctl/term"
)

// menu draws a menu in a frame with the second entry selected, a title and a link. It then prints the typed keys in row
// 6 until there is a q.
const menu = `
draw() { printf '\033[?1049h\033[2J\033]0;a menu\007\033[1;1H\033(0lqqqqqqk\033(B\033[2;1H one\033[3;1H\033[7m two\033[m\033[4;1H three` +
	`\033[5;1H\033]8;;https://example.net/\033\\\033[1;31mlink\033[m\033]8;;\033\\\033[6;1H'; }
draw; stty raw -echo; while :; do k=$(dd bs=1 count=1 2>/dev/null); printf '%s' "$k"; [ "$k" = q ] && break; done; stty sane; printf '\033[?1049l'
`

// onScreen opens a shell in a terminal of 40 columns and 8 rows with the program running in it, and returns its screen.
func onScreen(t *testing.T, c mcptest.Config, program string) (*mcptest.Lab, mcptest.Reply) {
	t.Helper()
	c.Options.Results = identity.Compact
	l := mcptest.NewLab(t, c)
	o := l.Open(`,"pty":{"cols":40,"rows":8},"until_prompt":true,"format":"screen","timeout_ms":20000`)
	if want := "screen v1 40x8 cursor 1,3\n1| $\n(7 empty)\n"; o.Chunk != want {
		t.Fatalf("open with until_prompt and format screen returned %q, want %q", o.Chunk, want)
	}
	program = strings.ReplaceAll(strings.TrimSpace(program), "\n", "; ")
	program = strings.ReplaceAll(program, "; ; ", "; ")
	return l, l.OK(mcptest.IOTool, fmt.Sprintf(`{"action":"write","session_id":"$S","data":%s,"format":"screen","until_screen":"^ ?three$","timeout_ms":20000}`,
		jsonText(program+"\r")))
}

// jsonText returns text as JSON.
func jsonText(text string) string { return strconv.QuoteToASCII(text) }

// version returns the version of a result with a screen.
func version(r mcptest.Reply) string { return member(r, "version") }

func TestScreen(t *testing.T) {
	l, r := onScreen(t, mcptest.Config{}, menu)
	const whole = "screen v2 40x8 alt cursor 6,1 title \"a menu\"\n1| +------+\n2|  one\n3|  two\n<- reverse\n4|  three\n5| link\n(3 empty)\n"
	if r.Chunk != whole || version(r) != `"2"` || r.NextCursor == "" || len(r.Members) != 3 {
		t.Errorf("the screen of a menu is %s; want the chunk %q, version 2 and next_cursor, and nothing else", r.Text, whole)
	}
	io := func(args string) mcptest.Reply {
		t.Helper()
		return l.OK(mcptest.IOTool, `{"session_id":"$S","timeout_ms":20000,`+args+`}`)
	}
	for _, tt := range []struct {
		name, args, want string // in the chunk
		members          int
	}{
		{"as it is", `"action":"read","format":"screen"`, whole, 3},
		{"nothing new", `"action":"read","since":"2"`, "screen v2 40x8 alt cursor 6,1 title \"a menu\" since v2 no row changed\n", 3},
		{"a version as it stands in the text", `"action":"read","since":"v2"`, "screen v2 40x8 alt cursor 6,1 title \"a menu\" since v2 no row changed\n", 3},
		{"a version as a number", `"action":"read","since":2.0`, "screen v2 40x8 alt cursor 6,1 title \"a menu\" since v2 no row changed\n", 3},
		{"a row", `"action":"read","rows":"3"`, "title \"a menu\"\n3|  two\n<- reverse\n", 3},
		{"a row as a number", `"action":"read","rows":3`, "title \"a menu\"\n3|  two\n<- reverse\n", 3},
		{"rows", `"action":"read","rows":"2-3"`, "\n2|  one\n3|  two\n<- reverse\n", 3},
		{"the last rows", `"action":"read","rows":"5-"`, "\n5| link\n(3 empty)\n", 3},
		{"attributes", `"action":"read","rows":"5","attrs":true`, "\n5| link\n<- [1-4 bold red]\n", 3},
		{"links", `"action":"read","rows":"5","links":true`, "\n5| link\n<- [1-4 https://example.net/]\n", 3},
		{"a box", `"action":"read","rows":"1","box":true`, "\n1| ┌──────┐\n", 3},
		{"a cut", `"action":"read","format":"screen","max_bytes":100`, "\n1| +------+\n(cut by max_bytes: read rows 2-)\n", 3},
		{"a cut of all", `"action":"read","format":"screen","max_bytes":20`, "screen v2 40x8 alt c", 3},
		{"what is there", `"action":"read","until_screen":"(?m)^ two$\n"`, whole, 3},
		{"the cursor", `"action":"read","until_cursor":{"row":6,"col":1}`, whole, 3},
		{"rest", `"action":"read","until_stable_ms":10`, whole, 3},
		{"a key", `"action":"write","key":"a","since":2`, "screen v3 40x8 alt cursor 6,2 title \"a menu\" since v2\n6| a\n", 3},
		{"keys", `"action":"write","keys":["b","c"],"since":3,"until_screen":"abc$"`, "since v3\n6| abc\n", 3},
		{"steps", `"action":"write","since":4,"steps":[{"data":"d","until_screen":"abcd$"},{"key":"e","until_stable_ms":50},{"data":"f"}]`, "since v4\n6| abcdef\n", 3},
		{"steps with a condition of the call", `"action":"write","since":5,"steps":[{"data":"g"}],"until_cursor":{"row":6,"col":8}`, "since v5\n6| abcdefg\n", 3},
		{"a step that fails", `"action":"write","since":6,"steps":[{"data":"h","until_screen":"never","timeout_ms":1200},{"data":"no"}]`, "since v6\n6| abcdefgh\n", 6},
		{"a pattern that does not come", `"action":"write","data":"i","since":7,"until_screen":"never","until_stable_ms":50`, "since v7\n6| abcdefghi\n", 5},
	} {
		if r := io(tt.args); !strings.Contains(r.Chunk, tt.want) || len(r.Members) != tt.members {
			t.Errorf("%s: %s returned %s; want %d members, and in the chunk %q", tt.name, tt.args, r.Text, tt.members, tt.want)
		}
	}
	there := fmt.Sprintf(`{"action":"write","host":"demo@127.0.0.1:%d","data":"echo a$((1+1))b\r","until_screen":"a2b","rows":"2","timeout_ms":20000}`, l.SSH.Port())
	if r := l.OK(mcptest.IOTool, there); !strings.HasSuffix(r.Chunk, "\n 2| a2b\n") || r.SessionID == "" {
		t.Errorf("%s returned %s; want the id of the session and a2b in row 2", there, r.Text)
	}
	if r := io(`"action":"write","data":"q","until_prompt":true,"format":"screen"`); !strings.Contains(r.Chunk, "40x8 cursor ") {
		t.Errorf("at the prompt the screen is %s; want the main screen", r.Text)
	}
}

// A screen that meets a wait is returned when it is drawn, or soon, if its program never ends to draw.
func TestScreenIsDrawn(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{SSH: sshserver.Config{
		Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
			draw := func(text string) bool {
				_, err := io.WriteString(r.Stdout, text)
				time.Sleep(time.Millisecond) // longer on a machine with much to do, and less than a screen is waited for
				return err == nil
			}
			key := make([]byte, 1)
			for {
				if _, err := r.Stdin.Read(key); err != nil {
					return sshserver.Exit{}
				}
				draw("\x1b[2J\x1b[1;1Htitle\x1b[2;1H")
				draw("the ")
				draw("rest")
				for n := 0; key[0] == 'x' && ctx.Err() == nil && draw("\x1b[3;1H"+strconv.Itoa(n)); n++ {
				}
			}
		},
	}})
	l.Open("")
	for _, input := range []string{
		`"key":"a","until_screen":"title"`, `"steps":[{"key":"a","until_screen":"title"}],"format":"screen"`,
		`"key":"x","until_screen":"title"`,
	} {
		r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S",`+input+`,"timeout_ms":20000}`)
		if !strings.Contains(r.Chunk, "\n 2| the rest\n") || !r.Matched || r.TimedOut {
			t.Errorf("%s returned %s; want all that is drawn", input, r.Text)
		}
	}
}

// The other forms of results have the screen, too.
func TestScreenForms(t *testing.T) {
	l, _ := onScreen(t, mcptest.Config{}, menu)
	for form, want := range map[identity.Results]string{
		identity.Full: `"chunk":"screen v2 40x8 alt cursor 6,1 title \"a menu\"\n3|  two\n<- reverse\n","encoding":"utf-8",`,
		identity.Text: "\"version \"2\"]\nscreen v2 40x8 alt cursor 6,1 title \"a menu\"\n3|  two\n<- reverse\n",
	} {
		a := mcptest.NewAgent(t, mcpapi.NewServer(mcpapi.Options{Sessions: l.Manager, Results: form}), "")
		a.Session = l.Session
		_, answer := a.Start("tools/call", a.Params(mcptest.IOTool, `{"action":"read","session_id":"$S","rows":"3"}`))
		got := string((<-answer).Result)
		if form == identity.Text {
			want = strings.Replace(want, `"version`, `" version`, 1)
		}
		if text := strconv.Quote(want); !strings.Contains(got, want) && !strings.Contains(got, text[1:len(text)-1]) {
			t.Errorf("a read with results %s returned %s; want %q in it", form, got, want)
		}
	}
}

func TestScreenErrors(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{})
	l.OpenShell()
	for _, tt := range []struct{ args, says string }{
		{`"action":"read","format":"screen","until_regex":"x"`, "until_regex is for output, and format screen returns the screen: give until_screen"},
		{`"action":"read","until_screen":"x","until_regex":"x"`, "give until_screen"},
		{`"action":"read","format":"screen","mode":"tail"`, "mode is for output"},
		{`"action":"read","format":"screen","max_lines":3`, "max_lines is for output"},
		{`"action":"read","format":"screen","match":"x"`, "rows chooses among the rows of a screen"},
		{`"action":"read","format":"screen","exec_id":"exec-1"`, "a command has no screen"},
		{`"action":"read","format":"screen","encoding":"base64"`, "the screen is text"},
		{`"action":"read","format":"clean","since":3`, "since is for format screen or png, not for format clean"},
		{`"action":"read","format":"raw","until_stable_ms":30`, "until_stable_ms is for format screen or png, not for format raw"},
		{`"action":"search","pattern":"x","format":"screen"`, "search looks at the output: leave format out"},
		{`"action":"read","format":"png","until_regex":"x"`, "format png returns the screen"},
		{`"action":"read","format":"screen","theme":"dark"`, "theme is for format png"},
		{`"action":"read","format":"png","theme":"neon"`, "use one of dark, light, xterm"},
		{`"action":"search","pattern":"x","format":"png"`, "format png is for read and write"},
		{`"action":"read","since":"x"`, `since "x" is no version`},
		{`"action":"read","rows":"x"`, `rows "x" is no range`},
		{`"action":"read","rows":"9-3"`, `rows "9-3" is no range`},
		{`"action":"read","rows":"0"`, `rows "0" is no range`},
		{`"action":"read","until_cursor":{"col":3}`, "until_cursor needs a row"},
		{`"action":"read","until_screen":"("`, "until_screen"},
		{`"action":"read","until_stable_ms":3000,"timeout_ms":1000`, "raise timeout_ms"},
		{`"action":"write","click":{"row":3}`, "click needs row and col"},
		{`"action":"write","click":{"row":3,"col":3},"data":"x"`, "exclude each other"},
		{`"action":"write","click":{"row":3,"col":3},"keys":["x"]`, "exclude each other"},
		{`"action":"write","steps":[{"click":{"row":3,"col":3},"key":"x"}]`, "exclude each other"},
		{`"action":"write","steps":[{"data":"x","until_stable_ms":3000}]`, "steps[0].until_stable_ms"},
		{`"action":"write","steps":[{"data":"x"}],"click":{"row":3,"col":3}`, "steps exclude data, key, keys and click"},
	} {
		l.Fails(mcptest.IOTool, `{"session_id":"$S",`+tt.args+`}`, term.InvalidArgument, tt.says)
	}
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","click":{"row":3,"col":3}}`, term.Unsupported, "not asked for the mouse")
	for _, tt := range []struct{ more, says string }{
		{`,"until_screen":"x","until_regex":"x"`, "give until_screen"},
		{`,"until_screen":"x","format":"clean"`, "until_screen is for format screen"},
		{`,"format":"clean"`, "format is for the output that open waits for"},
		{`,"format":"screen","session_type":"exec"`, "session_type exec has no terminal"},
	} {
		l.Fails(mcptest.SessionTool, l.OpenArgs(tt.more), term.InvalidArgument, tt.says)
	}
	l.Open(`,"session_type":"exec"`)
	l.Fails(mcptest.IOTool, `{"action":"read","session_id":"$S","format":"screen"}`, term.Unsupported, "no terminal, so it has no screen")
}

// A picture of the requested rows comes beside the text.
func TestScreenPicture(t *testing.T) {
	l, _ := onScreen(t, mcptest.Config{}, menu)
	heights := make(map[string]int)
	for _, args := range []string{
		`"action":"read","format":"png"`, `"action":"read","format":"png","rows":"2-3","theme":"light"`,
		`"action":"write","key":"x","format":"png","since":"2"`,
	} {
		_, answer := l.Start("tools/call", l.Params(mcptest.IOTool, `{"session_id":"$S",`+args+`}`))
		var r struct {
			Content []struct{ Type, Text, Data, MIMEType string }
		}
		l.Decode((<-answer).Result, &r)
		if len(r.Content) != 2 || r.Content[0].Type != "text" || r.Content[1].Type != "image" || r.Content[1].MIMEType != "image/png" {
			t.Fatalf("%s: the content is %.300v; want a text and a picture", args, r.Content)
		}
		file, err := base64.StdEncoding.DecodeString(r.Content[1].Data)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := png.DecodeConfig(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		heights[args] = drawn.Height
		if !strings.Contains(r.Content[0].Text, `"chunk":"screen v`) {
			t.Errorf("%s: the text is %s; want the screen", args, r.Content[0].Text)
		}
	}
	if all, some := heights[`"action":"read","format":"png"`], heights[`"action":"read","format":"png","rows":"2-3","theme":"light"`]; some*4 != all {
		t.Errorf("pictures of 8 and 2 rows have heights %d and %d; want the ratio of the rows", all, some)
	}
}

// A click goes to the program that has asked for the mouse, in a write and in a step.
func TestScreenClick(t *testing.T) {
	l, _ := onScreen(t, mcptest.Config{}, `stty raw -echo; printf '\033[?1000h\033[?1006h\nthree\r\n'; cat -v`)
	for _, args := range []string{`"click":{"row":3,"col":2},`, `"steps":[{"click":{"row":3,"col":2}}],`} {
		r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S",`+args+`"until_screen":"<0;2;3M.*<0;2;3m","timeout_ms":10000}`)
		if !strings.Contains(r.Chunk, "^[[<0;2;3M^[[<0;2;3m") || member(r, "matched") != "null" {
			t.Errorf("a click returned %s; want its bytes in row 6", r.Text)
		}
	}
}

// A secret is masked wherever the program shows it, even in the title. The record says that the screen was read.
func TestScreenSecrets(t *testing.T) {
	const secret = "hunter2-1138"
	leaktest.Secret(t, secret)
	diary := &mcptest.Diary{}
	l, _ := onScreen(t, mcptest.Config{Sessions: session.Config{Observers: []term.Observer{diary}}},
		`printf 'three\n'; read -r s; printf '\033]0;%s\007' "$s"; printf '[%s]\nnext' "$s"; cat`)
	r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","data":"`+secret+`\r","sensitive":true,"until_screen":"^next"}`)
	if !strings.Contains(r.Chunk, "[************]") || !strings.Contains(r.Chunk, `title "**`) {
		t.Errorf("the screen is %s; want asterisks in the text and in the title", r.Text)
	}
	for _, e := range diary.All() {
		if e.Verb == term.VerbRead && e.Detail != "screen" {
			t.Errorf("a read of the screen is recorded with the detail %q, want \"screen\"", e.Detail)
		}
	}
}

// The rest of a list that is refused at a click is returned once the screen has come to rest.
func TestScreenClickRefused(t *testing.T) {
	l := mcptest.NewLab(t, mcptest.Config{Options: mcpapi.Options{Results: identity.Compact}})
	l.Open(`,"pty":{"cols":40,"rows":8},"until_prompt":true,"timeout_ms":20000`)
	r := l.OK(mcptest.IOTool, `{"action":"write","session_id":"$S","steps":[{"data":"echo one$((1+1))\r"},{"click":{"row":1,"col":1}}],"format":"screen","timeout_ms":20000}`)
	if !strings.Contains(r.Chunk, "| one2\n") || !strings.Contains(r.Text, `"stopped":"refused"`) ||
		!strings.Contains(r.Text, "the click was not typed") {
		t.Errorf("a list that is refused at its second step returned %s; want the screen after the first", r.Text)
	}
	l.OK(mcptest.SessionTool, `{"action":"close","session_id":"$S"}`)
	l.Fails(mcptest.IOTool, `{"action":"write","session_id":"$S","click":{"row":1,"col":1}}`, term.AlreadyClosed, "")
}
