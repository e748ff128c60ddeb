package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// openLocal opens a session of this machine, until the test ends.
func openLocal(t testing.TB, c *lab.Client, argv ...string) string {
	t.Helper()
	const call = `{"action":"open","protocol":"local","argv":%s,"pty":{"cols":80,"rows":24}}`
	id := c.Call(t, lab.ToolSession, call, argv).SessionID
	t.Cleanup(func() { _, _ = c.Try(context.Background(), lab.ToolSession, `{"action":"close","session_id":%s}`, id) })
	return id
}

// Tiles follow a full-screen program and a flood. A session into which nothing was typed shows its calls. The large
// view has the calls with their results, a search, and the end.
func TestTiles(t *testing.T) {
	sshd := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{sshd})
	c := h.Connect(t)
	source := h.Dir + "/hello.go"
	h.Write(t, source, "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n")
	vim := openLocal(t, c, "vim", "-N", "-u", "NONE", "-c", "syntax on", source)
	b := newTab(t, 1280, 860)
	b.open(startPage(t, h).link())
	b.shows("#mode", "watch only")
	b.shows(".tile .name", vim)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"O// seen by a person\u001b"}`, vim)
	b.shows(".tile .screen", "seen by a person")

	top := openLocal(t, c, "sh", "-c", "exec htop -p $$") // which lists itself alone
	b.shows(".tile .screen", "F10Quit")

	calls := c.Open(t, sshd)
	c.Call(t, lab.ToolExec, `{"session_id":%s,"lane":"channel","cmd":"printf 'first\\nsecond\\n'; exit 3"}`, calls)
	b.shows(".tile ol .call", "exit 3")
	b.shows(".tile ol .call pre", "second")
	shell := openLocal(t, c, "bash", "--norc")
	c.Enter(t, shell, "ls --color=always /etc/ssh; echo li''sted\r", "listed")
	b.shows(".tile .screen", "listed")
	b.picture("watch-tiles.png")
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"key":"f10"}`, top)
	b.shows(".tile .badge", "closed")

	b.run("choose by keyboard", chromedp.Focus(".tile:nth-child(3)", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.shows("#calls .what", "$ printf 'first")
	b.shows("#calls pre", "second")
	b.shows("#hint", "--control-mode readwrite")
	if evaluate[bool](b, `document.getElementById('take').disabled`) == false {
		t.Error("the button that takes over is enabled where people may only watch")
	}
	b.line("#pattern", "NOWHERE")
	b.shows("#found", "Nothing")
	evaluate[string](b, `document.getElementById('pattern').value = ''`)
	b.line("#pattern", "first")
	b.wait("a search without a match in the terminal", `!document.getElementById('found').hidden`)
	c.Close(t, calls)
	b.shows("#one-state", "closed")
	b.clean()
}

// Of a session in which something is typed the person sees how much, and not the text.
func TestTakeOver(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	id := openLocal(t, c, "bash", "--norc")
	p := startPage(t, h, id)
	b := newTab(t, 1280, 860)
	b.open(p.link())
	b.shows("#one-name", id)
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"echo agent-was-here\r","until_idle_ms":100}`, id)
	b.shows("#one-screen", "agent-was-here")
	b.click("#take")
	b.shows("#one-holder", "you type")
	c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"agent types\r"}`, id)
	b.line("#keys", "echo by-hand")
	b.shows("#one-screen", "\nby-hand")
	b.picture("watch-take.png")

	// A key, and a paste that the shell must not run line by line.
	b.run("press keys", chromedp.SendKeys("#keys", "echo wrong", chromedp.ByQuery))
	b.shows("#one-screen", "echo wrong")
	b.click(`[data-key="ctrl_c"]`)
	b.shows("#one-screen", "wrong^C\nbash") // text typed before the shell has taken the signal is lost
	evaluate[any](b, `(() => {
		const data = new DataTransfer(); data.setData('text/plain', 'echo past\ned')
		document.getElementById('keys').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, cancelable: true}))
	})()`)
	b.shows("#one-screen", "echo past")

	// A password is in nothing that is kept: see the end of the test, and leaktest.
	b.click(`[data-key="ctrl_c"]`)
	b.shows("#one-screen", "ed^C\nbash")
	b.line("#keys", "read -rsp 'Pass''word: ' x; echo; echo ${#x} characters")
	b.shows("#one-screen", "Password:")
	password := leaktest.Secret(t, "hidden-page-1138")
	b.line("#password", password)
	b.shows("#one-screen", fmt.Sprintf("%d characters", len(password)))
	b.shows("#calls .call.person", "bytes")
	// Also where the far side shows it later.
	b.line("#keys", "echo \"<$x>\"")
	b.shows("#one-screen", "<"+strings.Repeat("*", len(password))+">")

	b.click("#give")
	b.wait("that it is free", `document.getElementById('one-holder').textContent === ''`)
	// The agent gets LOCKED once, and goes on.
	c.Refused(t, "LOCKED", lab.ToolIO, `{"action":"write","session_id":%s,"data":"x\r"}`, id)
	c.Enter(t, id, "echo agent-again\r", `agent-again`)
	b.shows("#one-screen", "agent-again")
	b.clean()
}
