package apps

import (
	"regexp"
	"strings"
	"testing"

	"ptyctl/watch/renderer"
)

// mostPage is the size in bytes that the page stays below.
const mostPage = 40 << 10

// The page is one small file that loads nothing, and has no way by which text could become markup or script. Its
// renderer is the watch page's own, not a copy.
func TestPage(t *testing.T) {
	page := Page()
	if len(page) >= mostPage {
		t.Errorf("the page has %d bytes, want fewer than %d", len(page), mostPage)
	}
	t.Logf("the page has %d bytes", len(page))
	if !strings.Contains(page, renderer.Script()) || !strings.Contains(page, renderer.Style()) {
		t.Error("the page lacks the renderer's script or style")
	}
	if n := strings.Count(page, "</script"); n != 1 {
		t.Errorf("the page has %d ends of a script, want 1: the script itself must have none", n)
	}
	for _, bad := range []string{
		`innerHTML`, `outerHTML`, `insertAdjacent`, `document\.write`, `\beval\b`, `new Function`, `\bfetch\(`, `XMLHttp`, `WebSocket`,
		`EventSource`, `sendBeacon`, `localStorage`, `sessionStorage`, `indexedDB`, `cookie`, `https?:`, `\bimport\b`, `(?m)^export `,
		`\bsrc=`, `\bhref=`, `url\(`, `/\* (style|script) \*/`, ` on[a-z]+="`,
	} {
		if found := regexp.MustCompile(bad).FindString(page); found != "" {
			t.Errorf("the page has %q, want none of it", found)
		}
	}
}
