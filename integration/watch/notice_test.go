package watch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// noticing has the page note each notice of the desktop, and lets a test hide it.
const noticing = `
	window.notices = []
	const Real = Notification
	window.Notification = class extends Real {
		constructor(title, options) { super(title, options); window.notices.push(options.body) }
	}
	Object.defineProperty(document, 'hidden', { get: () => !!window.away })`

// A page that is not seen has the desktop tell that a login asks, that a call needs consent, that a program in a terminal
// asks, and that a session has ended: once each, without any text of a host or a command. It tells nothing while it is
// seen, and nothing before the person has allowed it.
func TestNotices(t *testing.T) {
	server := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": "login-notice-1138"}})
	sshd := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{sshd}, "[policy]\nask = ['touch *']\nconsent = 'person'\ntyping = 'allow'\n"+
		"[session]\nread_timeout_ms = 100\n[limits]\nmax_wait_ms = 2000\n"+lab.ReadWrite)
	h.Trust(t, server.KnownHostsLine())
	c := h.Connect(t)
	b := newTab(t, 1000, 700)
	link := startPage(t, h).link()
	origin, _, _ := strings.Cut(link, "/#")
	b.run("note the notices", chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdpage.AddScriptToEvaluateOnNewDocument(noticing).Do(ctx)
		return err
	}))
	b.open(link)
	script := h.Dir + "/asks"
	h.Write(t, script, "#!/bin/sh\nread x; printf 'evil words: Password: '; stty -echo; read y")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	shell := openLocal(t, c, script)
	b.shows(".tile .name", shell)
	if shown := evaluate[bool](b, `!document.getElementById('tell').hidden`); shown != evaluate[bool](b, `Notification.permission === 'default'`) {
		t.Errorf("the button that asks for notices is shown: %t, want it where the person has decided nothing", shown)
	}
	b.run("allow notices", browser.GrantPermissions([]browser.PermissionType{browser.PermissionTypeNotifications}).
		WithOrigin(origin))
	told := func(want string) {
		t.Helper()
		b.wait("the notice "+want, fmt.Sprintf(`window.notices.some(n => n.includes(%q))`, want))
	}
	login := c.Call(t, lab.ToolSession, lab.OpenSSH, server.Port(), "alice").SessionID
	b.shows(".question", "alice@127.0.0.1")
	if n := evaluate[int](b, `window.notices.length`); n != 0 {
		t.Errorf("a page that is seen has given %d notices, want none", n)
	}
	evaluate[bool](b, `window.away = true`)
	again := c.Call(t, lab.ToolSession, lab.OpenSSH, server.Port(), "alice").SessionID
	told("asks (password)")
	id := c.Open(t, sshd)
	c.Refused(t, "BUSY", lab.ToolExec, `{"session_id":%s,"cmd":"touch secret-name","lane":"channel"}`, id)
	told("asks (consent)")
	c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":"\r"}`, shell)
	told("seems to ask (password)")
	c.Close(t, id)
	told(id + " has ended")
	for _, s := range []string{login, again, shell} {
		c.Close(t, s)
		told(s + " has ended")
	}
	notices := evaluate[[]string](b, `window.notices`)
	if len(notices) != 7 {
		t.Errorf("the desktop was told %q, want the three questions and the four ends, once each", notices)
	}
	for _, hidden := range []string{"evil", "touch", "secret-name"} {
		if strings.Contains(strings.Join(notices, "\n"), hidden) {
			t.Errorf("the notices %q have %q, want no text of a host or a command", notices, hidden)
		}
	}
	b.clean()
}
