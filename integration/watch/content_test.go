package watch

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// The output of a far side is text to the page: its sequences, HTML, scripts and long titles. Wide and joined
// characters keep the columns, and colours are those that were sent.
func TestHostileOutput(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Connect(t)
	title := strings.Repeat("<img src=x onerror=alert(1)>", 400)
	script := h.Dir + "/hostile"
	h.Write(t, script, "#!/bin/sh\nprintf '\\033]0;"+title+"\\007'\n"+
		"printf '<script>alert(1)</script> <b>bold</b> &amp; javascript:alert(1)\\r\\n'\n"+
		"printf '\\033]8;;javascript:alert(1)\\007link\\033]8;;\\007 \\033]52;c;ZXZpbA==\\007\\033[21t\\033[6n\\r\\n'\n"+
		"printf '\\033[38;2;1;2;3;48;5;196mcolour\\033[0m \\033[7mreverse\\033[0m \\033[4:3mcurly\\033[0m\\r\\n'\n"+
		"printf '\\344\\270\\226\\347\\225\\214|e\\314\\201|\\342\\224\\200|\\360\\237\\230\\200|\\r\\n'\n"+
		"printf '\\342\\200\\256bidi\\r\\nall-sent\\r\\n'; cat >/dev/null\n")
	id := openLocal(t, c, "sh", script)
	b := newTab(t, 1280, 860)
	b.open(startPage(t, h, id).link())
	b.shows("#one-screen", "all-sent")
	b.shows("#one-screen", "<script>alert(1)</script> <b>bold</b> &amp; javascript:alert(1)")
	b.shows("#one-title", "<img src=x onerror=alert(1)>")
	got := evaluate[map[string]any](b, `(() => {
		const screen = document.getElementById('one-screen')
		const find = text => [...screen.querySelectorAll('span')].find(e => e.textContent === text)
		const columns = (() => { // of each bar in the row with wide characters
			const row = [...screen.children].find(r => r.textContent.includes('世'))
			const ch = screen.getBoundingClientRect().width / 80
			const range = document.createRange(), found = []
			const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
			for (let n; n = walk.nextNode();) for (let i = 0; i < n.length; i++) if (n.data[i] === '|') {
				range.setStart(n, i); range.setEnd(n, i + 1)
				found.push(Math.round((range.getBoundingClientRect().left - row.getBoundingClientRect().left) / ch))
			}
			return found.join(' ')
		})()
		return {
			elements: document.querySelectorAll('#one script, #one img, #one a, #one b, .screen iframe').length,
			title: document.title, overflow: document.documentElement.scrollWidth > innerWidth,
			color: getComputedStyle(find('colour')).color, back: getComputedStyle(find('colour')).backgroundColor,
			curly: getComputedStyle(find('curly')).textDecorationStyle, columns,
		}
	})()`)
	for name, want := range map[string]any{
		"elements": 0.0, "title": "ptyctl", "overflow": false, "color": "rgb(1, 2, 3)", "back": "rgb(255, 0, 0)",
		"curly": "wavy", "columns": "4 6 8 11",
	} {
		if got[name] != want {
			t.Errorf("of the hostile output, %s = %v, want %v", name, got[name], want)
		}
	}
	b.clean()
}

// A login that asks waits in the page, and goes on with the answer, which is nowhere else.
func TestQuestion(t *testing.T) {
	const password = "login-page-1138"
	server := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": password}})
	h := lab.NewHome(t, lab.ReadWrite)
	h.Trust(t, server.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	id := c.Call(t, lab.ToolSession, lab.OpenSSH, server.Port(), "alice").SessionID
	b := newTab(t, 1000, 700)
	b.open(startPage(t, h).link())
	b.shows(".question", "alice@127.0.0.1")
	if kind := evaluate[string](b, `document.querySelector('.question input').type`); kind != "password" {
		t.Errorf("the field for a password is of the type %q, want password", kind)
	}
	b.picture("watch-question.png")
	b.line(".question input", password)
	b.wait("that nothing is asked any more", `!document.querySelector('.question')`)
	// The question is gone with its answer, before the login has ended.
	lab.Eventually(t, "the session is open after the answer", func() bool {
		return c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id).State == "open"
	})
	b.clean()
}

// A recording is played, and a marker leads to its time.
func TestReplay(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Connect(t)
	id := openLocal(t, c, "bash", "--norc")
	c.Enter(t, id, "ls --color=always /etc/ssh; echo one-r''ecorded\r", "one-recorded")
	c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"uname -s"}`, id)
	c.Enter(t, id, "clear; printf '\\033[32mok\\033[m\\n'; echo two-r''ecorded\r", "two-recorded")
	c.Close(t, id)
	b := newTab(t, 1280, 860)
	b.open(startPage(t, h).link())
	b.click("#recordings")
	b.shows("#replay-list button", id)
	b.click("#replay-list button")
	b.shows("#replay-screen", "two-recorded")
	b.wait("the end", `document.getElementById('play').textContent === 'Play'`)
	b.picture("watch-replay.png")
	b.run("go to the command", chromedp.Evaluate(
		`[...document.querySelectorAll('#markers button')].find(e => e.textContent.includes('exec')).click()`, nil))
	b.shows("#replay-screen", "one-recorded")
	text := evaluate[string](b, `document.getElementById('replay-screen').innerText`)
	if strings.Contains(text, "two-recorded") {
		t.Errorf("at the command the recording shows %q, want only what was before it", text)
	}
	b.clean()
}

// The page can be read on a phone, in the dark, and it follows the system.
func TestPhone(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "bash", "--norc")
	c.Enter(t, id, "echo on a ph''one\r", "on a phone")
	b := newTab(t, 390, 844)
	b.open(startPage(t, h, id).link())
	b.shows("#one-screen", "on a phone")
	before := evaluate[bool](b, `document.documentElement.classList.contains('dark')`)
	b.run("switch", chromedp.KeyEvent("t"))
	if after := evaluate[bool](b, `document.documentElement.classList.contains('dark')`); after == before {
		t.Errorf("dark is %t before and after the key t, want a change", after)
	}
	if evaluate[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("the page is wider than a phone's screen, want it to fit")
	}
	b.picture("watch-phone.png")
	b.clean()
}
