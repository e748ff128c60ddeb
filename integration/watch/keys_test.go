package watch

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ptyctl/internal/lab"
)

// press presses a key with ctrl, as a keyboard does.
func (b *tab) press(key string, code int64) {
	b.t.Helper()
	down := input.DispatchKeyEvent(input.KeyRawDown).WithModifiers(input.ModifierCtrl).WithKey(key).
		WithWindowsVirtualKeyCode(code)
	b.run("press ctrl-"+key, down, input.DispatchKeyEvent(input.KeyUp).WithModifiers(input.ModifierCtrl).WithKey(key).
		WithWindowsVirtualKeyCode(code))
}

// The page is used without a mouse: tiles are chosen, a terminal is taken, interrupted and given back, and a recording
// is played, stopped and searched. It follows the system from light to dark.
func TestKeyboard(t *testing.T) {
	h := lab.NewHome(t, lab.ReadWrite)
	c := h.Connect(t)
	first, second := openLocal(t, c, "bash", "--norc"), openLocal(t, c, "cat")
	b := newTab(t, 1280, 860)
	b.open(startPage(t, h).link())
	b.shows(".tile .name", second)
	b.run("go to the first tile", chromedp.Focus(".tile", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	focused := evaluate[string](b, `document.activeElement.querySelector('.name').textContent`)
	other := evaluate[string](b, `document.querySelectorAll('.tile .name')[1].textContent`)
	if focused != other {
		t.Errorf("after an arrow the tile %q has the focus, want %q", focused, other)
	}
	b.run("go back and open it", chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(" "))
	b.shows("#one-name", first)
	b.run("go to the search", chromedp.KeyEvent("/"))
	if id := evaluate[string](b, `document.activeElement.id`); id != "pattern" {
		t.Errorf("after / the focus is at %q, want the search", id)
	}
	b.run("leave it, and go to the button", chromedp.KeyEvent(kb.Escape), chromedp.Focus("#take", chromedp.ByQuery))
	b.enter()
	b.shows("#one-holder", "you type")
	// A signal before the exec of sleep would end in a handler of bash, and the list would go on.
	b.line("#keys", `sh -c "echo beg''un; exec sleep 100" && echo wr''ong`)
	b.shows("#one-screen", "\nbegun")
	b.press("c", 67)
	b.shows("#one-screen", "^C\nbash") // text typed before the shell has taken the signal is lost
	b.line("#keys", "echo inter''rupted-$?")
	b.shows("#one-screen", "interrupted-130")
	b.run("the line before", chromedp.KeyEvent(kb.ArrowUp))
	b.enter()
	b.wait("the line once more", `document.getElementById('one-screen').innerText.match(/^interrupted-/gm)?.length > 1`)
	b.press("]", 221)
	b.wait("that it is given back", `document.getElementById('one-holder').textContent === ''`)
	c.Close(t, first)

	b.run("open the recordings", chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("r"))
	b.shows("#replay-list button", first)
	evaluate[string](b, `document.getElementById('speed').value = '16'`)
	b.run("play it", chromedp.Evaluate(fmt.Sprintf(
		`[...document.querySelectorAll('#replay-list button')].find(e => e.textContent.includes(%q)).focus()`, first), nil))
	b.enter()
	b.shows("#replay-screen", "interrupted-130")
	b.wait("its end", `document.getElementById('play').textContent === 'Play'`)
	at := 1000.0
	for range 2 {
		b.run("go back by a marker", chromedp.KeyEvent("p"))
		b.wait("an earlier time", fmt.Sprintf(`Number(document.getElementById('seek').value) < %v`, at))
		at = evaluate[float64](b, `Number(document.getElementById('seek').value)`)
	}
	b.run("go to the next marker", chromedp.KeyEvent("n"))
	b.wait("a later time", fmt.Sprintf(`Number(document.getElementById('seek').value) > %v`, at))
	// The timeline: its beginning is an empty terminal, its end has all.
	b.run("go to the beginning", chromedp.Focus("#seek", chromedp.ByQuery), chromedp.KeyEvent(kb.Home))
	b.wait("the beginning", `!document.getElementById('replay-screen').innerText.includes('sleep')`)
	b.run("go to the end", chromedp.KeyEvent(kb.End))
	b.shows("#replay-screen", "interrupted-130")
	b.run("play again, stop", chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent(" "))
	b.wait("that it plays", `document.getElementById('play').textContent === 'Pause'`)
	b.run("stop", chromedp.KeyEvent(" "))
	b.wait("that it stands", `document.getElementById('play').textContent === 'Play'`)

	for _, scheme := range []string{"dark", "light"} {
		b.run("have the system "+scheme, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
		}))
		b.wait("that the page is "+scheme, fmt.Sprintf(
			`document.documentElement.classList.contains('dark') === %t`, scheme == "dark"))
	}
	b.run("go home", chromedp.KeyEvent(kb.Escape))
	b.wait("the tiles", `!document.getElementById('tiles').hidden`)
	b.clean()
}
