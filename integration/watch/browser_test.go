package watch

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
)

// chromium starts the browser once for all tests of the package.
var chromium = sync.OnceValues(func() (context.Context, error) {
	name, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("%w: scripts/install-test-deps installs it", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(name), chromedp.NoSandbox, // in a container the tester is root
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		// A frame without an origin would else be in a process of its own, where the tests do not see it.
		chromedp.Flag("disable-features", "site-per-process,Translate,BlinkGenPropertyTrees,IsolateSandboxedIframes"),
	)
	ctx, _ := chromedp.NewExecAllocator(context.Background(), options...) // it ends with the tests
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Run(ctx)
})

// A tab is the page in the browser.
type tab struct {
	t   testing.TB
	ctx context.Context
	URL string // that was opened, without its ticket

	mu     sync.Mutex // guards the following
	wrongs []string   // complaints of the browser
	sent   []string   // the addresses that it has asked for
}

// watching has the page report violations of its own policy.
const watching = `addEventListener('securitypolicyviolation', e =>
	console.error('CSP ' + e.violatedDirective + ' ' + e.blockedURI))`

// newTab opens an empty tab.
func newTab(t testing.TB, width, height int64) *tab {
	t.Helper()
	browser, err := chromium()
	if err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, end := context.WithTimeout(ctx, 4*lab.Patience)
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	b.run("open a tab", network.Enable(), log.Enable(), runtime.Enable(), chromedp.EmulateViewport(width, height),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := cdpage.AddScriptToEvaluateOnNewDocument(watching).Do(ctx)
			return err
		}))
	return b
}

// hear notes the complaints of the browser.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrongs = append(b.wrongs, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.wrongs = append(b.wrongs, string(arg.Value))
		}
	case *log.EventEntryAdded:
		b.wrongs = append(b.wrongs, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.sent = append(b.sent, e.Request.URL)
	}
}

// open opens a link of ptyctl watch, and waits until the page shows that it is connected.
func (b *tab) open(link string) {
	b.t.Helper()
	b.URL, _, _ = strings.Cut(link, "#")
	b.run("open the page", chromedp.Navigate(link))
	b.wait("the mode", `document.getElementById('mode').textContent !== ''`)
}

// run does something in the browser.
func (b *tab) run(what string, actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v\nthe browser says %q", what, err, b.complaints())
	}
}

// wait waits until an expression is true.
func (b *tab) wait(what, expression string) {
	b.t.Helper()
	err := chromedp.Run(b.ctx, chromedp.Poll(expression, nil,
		chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(2*lab.Patience)))
	if err != nil {
		var text string
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), 5*time.Second)
		defer cancel()
		_ = chromedp.Run(ctx, chromedp.Evaluate(`document.body.innerText`, &text))
		b.t.Fatalf("the page did not show %s: %v\nit shows %s\nthe browser says %q", what, err,
			lab.Tail(text, 4<<10), b.complaints())
	}
}

// shows waits until an element shows text.
func (b *tab) shows(selector, text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("%q in %s", text, selector), fmt.Sprintf(
		`[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))`, selector, text))
}

// click clicks an element, once it is enabled and nothing covers it. It does so in the page: a click of the browser at
// a position comes later, when another element may be there.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.run("click "+selector, chromedp.Evaluate(fmt.Sprintf(`new Promise(done => {
		const look = () => {
			const e = document.querySelector(%q)
			e?.scrollIntoView({ block: 'nearest' })
			const r = e?.getBoundingClientRect()
			if (!r?.width || e.disabled || !e.contains(document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2))) {
				return requestAnimationFrame(look)
			}
			e.click()
			done(true)
		}
		look()
	})`, selector), nil, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
}

// enter presses the key, as a keyboard does: one event, after which the browser would add a line end by itself.
func (b *tab) enter() {
	b.t.Helper()
	b.run("press enter", input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithText("\r").
		WithWindowsVirtualKeyCode(13), input.DispatchKeyEvent(input.KeyUp).WithKey("Enter").WithCode("Enter"))
}

// line types a line into an element.
func (b *tab) line(selector, text string) {
	b.t.Helper()
	b.run("type into "+selector, chromedp.SendKeys(selector, text, chromedp.ByQuery))
	b.enter()
}

// evaluate returns the value of an expression.
func evaluate[T any](b *tab, expression string) (value T) {
	b.t.Helper()
	b.run("evaluate "+expression, chromedp.Evaluate(expression, &value,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// complaints returns the complaints of the browser, without those about responses with a status of 4xx.
func (b *tab) complaints() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.wrongs {
		if !strings.HasPrefix(text, "Failed to load resource: the server responded with a status of 4") {
			all = append(all, text)
		}
	}
	return all
}

// clean checks that nothing has broken the page's policy or failed in it, that it has asked this server alone, and that
// it keeps nothing. It searches the shown text for the secrets of the tests.
func (b *tab) clean() {
	b.t.Helper()
	if wrongs := b.complaints(); len(wrongs) > 0 {
		b.t.Errorf("the browser complains: %q, want nothing", wrongs)
	}
	b.mu.Lock()
	for _, address := range b.sent {
		u, err := url.Parse(address)
		if err != nil || !strings.HasPrefix(address, b.URL) {
			b.t.Errorf("the page has asked for %s, want nothing but %s", address, b.URL)
		} else if u.RawQuery != "" {
			leaktest.Output(b.t, "address", address)
		}
	}
	b.mu.Unlock()
	kept := evaluate[string](b, `JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, location.href,
		history.length > 3])`)
	if want := fmt.Sprintf(`["",{},{},%q,false]`, b.URL); kept != want {
		b.t.Errorf("the browser keeps %s, want %s", kept, want)
	}
	leaktest.Output(b.t, "page", evaluate[string](b, `document.documentElement.outerHTML +
		[...document.querySelectorAll('input, textarea')].map(e => e.value).join('\n')`))
}

// picture writes a picture of the page into the folder that PTYCTL_PICTURES names, if it names one.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("PTYCTL_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	b.run("take a picture", chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil { //nolint:gosec // a picture for the docs
		b.t.Fatal(err)
	}
}

// A page is a ptyctl watch that runs.
type page struct {
	t     testing.TB
	lines *bufio.Reader
	log   *lab.Capture
	cmd   *exec.Cmd
}

// startPage starts ptyctl watch, which prints its link.
func startPage(t testing.TB, h *lab.Home, args ...string) *page {
	t.Helper()
	return startWatch(t, h, nil, append([]string{"--print-url"}, args...)...)
}

// startWatch starts ptyctl watch with further variables.
func startWatch(t testing.TB, h *lab.Home, env []string, args ...string) *page {
	t.Helper()
	p := &page{t: t, log: lab.NewCapture()}
	p.cmd = h.Command(append([]string{"watch", "--config", h.Config}, args...)...)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Env = append(p.cmd.Env, "PTYCTL_RECORD_DIR="+h.Recordings)
	p.cmd.Stderr = p.log
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = write
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	p.lines = bufio.NewReader(read)
	t.Cleanup(func() {
		p.stop()
		_ = read.Close()
		leaktest.Output(t, "log", p.log.String())
	})
	return p
}

// stop ends it, as ctrl-c does.
func (p *page) stop() {
	p.t.Helper()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("ptyctl watch ends with %v: %s", err, p.log)
	}
	p.cmd = nil
}

func navigate(link string) chromedp.Action { return chromedp.Navigate(link) }

func reload() chromedp.Action { return chromedp.Reload() }

// link returns the next link that it prints.
func (p *page) link() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("ptyctl watch prints no link: %v; its log: %s", err, p.log)
	}
	return strings.TrimSpace(line)
}

// evaluateClick clicks the first button of a question with this text.
func evaluateClick(text string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(
		`[...document.querySelectorAll('.question button')].find(e => e.textContent === %q).click()`, text), nil)
}

// evaluateTile chooses the tile of a session.
func evaluateTile(id string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(
		`[...document.querySelectorAll('.tile')].find(e => e.innerText.includes(%q)).click()`, id), nil)
}

// goneTile is true when no tile of a session is there.
func goneTile(id string) string {
	return fmt.Sprintf(`![...document.querySelectorAll('.tile .name')].some(e => e.textContent.includes(%q))`, id)
}
