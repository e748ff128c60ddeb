package watch

import (
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// ptyctl watch --all begins before the first ptyctl. A new one is shown at once, with its sessions, its mode and its
// rights; one that ends, or is killed, is shown no more. The others are not disturbed.
func TestProcessesComeAndGo(t *testing.T) {
	h := lab.NewHome(t)
	b := newTab(t, 1000, 700)
	link := startPage(t, h, "--all").link()
	b.URL, _, _ = strings.Cut(link, "#")
	b.run("open the page", navigate(link))
	b.shows("#empty", "No ptyctl runs.")
	first := h.Connect(t)
	b.shows("#empty", "No session is open.")
	b.shows("#mode", "watch only")
	one := openLocal(t, first, "cat")
	b.shows(".tile .name", one)
	second := h.Connect(t, "--control-mode", "readwrite")
	two := openLocal(t, second, "bash", "--norc")
	b.shows(".tile .name", two)
	b.shows("#mode", "may step in")
	b.run("choose it", evaluateTile(two))
	b.click("#take")
	b.shows("#one-holder", "you type")
	b.line("#keys", "echo in-the-sec''ond")
	b.shows("#one-screen", "in-the-second")
	first.Close(t, one)
	first.Finish()
	b.wait("that the first is gone", goneTile(one))
	b.line("#keys", "echo not-dis''turbed")
	b.shows("#one-screen", "not-disturbed")
	b.click("#give")
	lab.Eventually(t, "the terminal is free", func() bool {
		return second.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, two).Holder == ""
	})
	second.Close(t, two)
	second.Finish()
	b.shows("#empty", "No ptyctl runs.")
	b.wait("that no session is there", `document.querySelectorAll('.tile').length === 0`)
	if mode := evaluate[string](b, `document.getElementById('mode').textContent`); mode != "" {
		t.Errorf("without a process the page says %q, want nothing", mode)
	}
	third := h.Command("mcp", "--config", h.Config)
	in, err := third.StdinPipe()
	if err == nil {
		err = third.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.shows("#empty", "No session is open.")
	_ = third.Process.Kill()
	_ = third.Wait()
	_ = in.Close()
	b.shows("#empty", "No ptyctl runs.")
	b.clean()
}
