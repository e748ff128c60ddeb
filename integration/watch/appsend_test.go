package watch

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// fakeClock takes the place of the view's clock: time passes when advance is called.
const fakeClock = `let clock = 0, timers = 0; const due = new Map();
performance.now = () => clock;
setTimeout = (f, ms = 0) => { due.set(++timers, { f, at: clock + ms }); return timers };
clearTimeout = id => due.delete(id);
var advance = async ms => {
	const end = clock + ms;
	for (;;) {
		const first = [...due].filter(([, d]) => d.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
		if (!first) break;
		clock = Math.max(clock, first[1].at); due.delete(first[0]); first[1].f();
		for (let i = 0; i < 20; i++) await null;
	}
	clock = end; return true };
var waits = ms => [...due.values()].some(d => d.at === clock + ms)`

// begins lets a view with the fake clock make its first call, once it is about to.
func (h *chat) begins(view int) {
	h.t.Helper()
	h.until(view, "that it is about to call", `running && waits(0)`)
	inside[bool](h, view, `advance(0)`)
}

// A view makes no second call within a second of the one before, however fast the host answers; and none while no one
// can see it.
func TestAppsPace(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Start(t).ShakeHands(t, appsClient())
	chat := newChat(t, c)
	const answer = `{"session_id":"s","state":"open","version":1,"frame":{"cols":20,"rows":2,"x":0,"y":0,"full":true,"l":{"0":[["x"]]}}}`
	view := chat.show(`{"action":"open"}`, `{"content":[{"type":"text","text":"{\"session_id\":\"s\"}"}]}`,
		`{prefix: `+quoted(fakeClock)+`, answer: {content: [{type: 'text', text: `+quoted(answer)+`}]}}`)
	chat.begins(view)
	for n := 1; n <= 5; n++ {
		// The answer to a call is drawn before the wait for the next begins.
		chat.until(view, "that it waits for a second", `waits(LEAST)`)
		if got := evaluate[int](chat.tab, `views[0].calls`); got != n {
			t.Fatalf("it has made %d calls, want %d", got, n)
		}
		inside[bool](chat, view, `advance(999)`)
		if !inside[bool](chat, view, `waits(1)`) {
			t.Errorf("after 999 ms it does not wait for the last one")
		}
		inside[bool](chat, view, `advance(1)`)
	}

	evaluate[bool](chat.tab, `views[0].frame.style.marginTop = '5000px', true`)
	chat.until(view, "that it is out of sight", `!seen`)
	before := evaluate[int](chat.tab, `views[0].calls`)
	for range 5 {
		inside[bool](chat, view, `advance(10000)`)
	}
	if got := evaluate[int](chat.tab, `views[0].calls`); got > before+1 { // one may have been on its way
		t.Errorf("out of sight it has made %d calls, want none", got-before)
	}
	chat.untroubled()
}

// A chat that is loaded again has the results of old calls and no server: the view shows the last screen that it has, and
// says so. It tries again when a person asks for it.
func TestAppsDeadConnection(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Start(t).ShakeHands(t, appsClient())
	chat := newChat(t, c)
	id := openLocal(t, c, "sh", "-c", "printf 'kept line\\n\\n  indented\\n~~~~~~~~\\n~~~~~~~~\\n~~~~~~~~\\n~~~~~~~~\\nand 12|3 bars\\n'; cat")
	input, result := chat.model(lab.ToolIO, `{"action":"read","session_id":%s,"format":"screen","until_screen":"bars"}`, id)
	view := chat.show(input, result, `{prefix: `+quoted(fakeClock)+`, dead: true}`)
	chat.showsRow(view, "and 12|3 bars")
	if got, want := inside[string](chat, view, rows), screenOf(t, c, id); got != want || !strings.Contains(result, "like it") {
		t.Errorf("before a frame the view shows\n%s\nwant the screen of the result %s:\n%s", got, result, want)
	}
	chat.begins(view)
	chat.until(view, "that it tries again", `document.getElementById('state').textContent.includes('tries again')`)
	// The pauses get longer, and end.
	chat.until(view, "that it is not live", `advance(60000).then(() =>
		document.getElementById('state').textContent.includes('This is the last screen that came'))`)
	chat.showsRow(view, "kept line")
	calls := evaluate[int](chat.tab, `views[0].calls`)
	inside[bool](chat, view, `advance(3600000)`)
	if got := evaluate[int](chat.tab, `views[0].calls`); got != calls || calls > 6 {
		t.Errorf("it has made %d calls, and %d later; want at most 6, and none later", calls, got-calls)
	}
	evaluate[bool](chat.tab, `views[0].dead = false, true`)
	inside[bool](chat, view, `document.getElementById('again').click(), true`)
	chat.begins(view)
	chat.says(view, "Live")
	chat.untroubled()
}

// Calls that show no terminal take up no room, and a host that never answers is said to be one. A session that is not
// there, or has no terminal, is final.
func TestAppsNoTerminal(t *testing.T) {
	h := lab.NewHome(t)
	c := h.Start(t).ShakeHands(t, appsClient())
	chat := newChat(t, c)
	list := chat.show(`{"action":"list"}`, `{"content":[{"type":"text","text":"{}"}]}`, `{}`)
	failed := chat.show(`{"action":"open"}`, `{"isError":true,"content":[{"type":"text","text":"{\"error_code\":\"AUTH_FAILED\"}"}]}`, `{}`)
	for _, view := range []int{list, failed} {
		chat.until(view, "nothing", `document.getElementById('view').hidden`)
	}
	chat.wait("that they take up no room", `views.every(v => v.heights.at(-1) === 1 && v.calls === 0)`)

	gone := chat.show(`{"action":"read","session_id":"none-k3f9q2zd","format":"screen"}`, `null`, `{}`)
	chat.says(gone, "Not live")
	chat.until(gone, "that it has stopped", `!running`)
	silent := chat.show(`{"action":"read","session_id":"s","format":"screen"}`, `null`, `{silent: true, prefix: `+quoted(fakeClock)+`}`)
	chat.begins(silent)
	chat.until(silent, "that it waits for the host", `asked.size === 1`)
	inside[bool](chat, silent, `advance(WAIT + SLACK)`)
	chat.says(silent, "the host does not answer")
	chat.untroubled()
}
