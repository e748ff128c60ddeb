package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/screen/picture"
	"ptyctl/session"
)

// The formats of a result that has the screen of the terminal in place of its output: as text, and with a picture.
const (
	formatScreen = "screen"
	formatPNG    = "png"
)

// screenArgs are the arguments about the screen.
type screenArgs struct {
	Since         string      `json:"since" on:"read write" is:"filled number" doc:"version: only what changed" eg:"'since':'7','format':'screen','until_regex':null"`
	Rows          string      `json:"rows" on:"read write" is:"filled" doc:"such as 5-12" eg:"'rows':'5-12','format':'screen','until_regex':null"`
	Attrs         bool        `json:"attrs" on:"read write" doc:"all colours" eg:"'attrs':true,'format':'screen','until_regex':null"`
	Links         bool        `json:"links" on:"read write" doc:"URLs" eg:"'links':true,'format':'screen','until_regex':null"`
	Box           bool        `json:"box" on:"read write" doc:"frames not as -|+" eg:"'box':true,'format':'screen','until_regex':null"`
	Theme         string      `json:"theme" on:"read write" is:"filled" doc:"png: dark, light, xterm" eg:"'theme':'light','format':'png','until_regex':null"`
	UntilScreen   string      `json:"until_screen" on:"read write" is:"filled" doc:"or this on screen (RE2)" eg:"'until_screen':'Save\\\\?','until_regex':null,'until_idle_ms':null"`
	UntilStableMS int64       `json:"until_stable_ms" on:"read write" min:"1" max:"1<<40" doc:"or no change on screen" eg:"'until_stable_ms':300,'until_regex':null,'until_idle_ms':null"`
	UntilCursor   screenPoint `json:"until_cursor" on:"read write" doc:"or cursor there" eg:"'until_cursor':{'row':12},'until_regex':null,'until_idle_ms':null"`
	Click         screenPoint `json:"click" on:"write" doc:"left button" eg:"'click':{'row':5,'col':10},'data':null"`
}

// screenPoint is a place on the screen, counted from 1.
type screenPoint struct {
	Row int `json:"row" min:"1" max:"1000" doc:"from 1" eg:"'row':12"`
	Col int `json:"col" min:"1" max:"1000" doc:"from 1" eg:"'col':10,'row':12"`
}

// point returns the engine's form; the zero value is no place.
func (p screenPoint) point() session.ScreenPoint { return session.ScreenPoint(p) }

// clicks checks a place to click; beside says that the write has another input, too.
func (p screenPoint) clicks(c *toolset.Call, at func(string) string, beside bool) error {
	switch {
	case beside:
		return c.Invalid(at("click"), "data, key, keys and click exclude each other: give one of them, "+
			"and the others in a call or a step of their own")
	case p.Row == 0 || p.Col == 0:
		return c.Invalid(at("click"), at("click")+" needs row and col, which count from 1")
	}
	return nil
}

// asks returns the name of an argument that only a screen can have meant, or "".
func (a *screenArgs) asks() string {
	switch {
	case a.Since != "":
		return "since"
	case a.Rows != "":
		return "rows"
	case a.Attrs:
		return "attrs"
	case a.Links:
		return "links"
	case a.Box:
		return "box"
	}
	return a.waits()
}

// waits returns the name of the first condition on the screen, or "".
func (a *screenArgs) waits() string {
	switch {
	case a.UntilScreen != "":
		return "until_screen"
	case a.UntilStableMS > 0:
		return "until_stable_ms"
	case a.UntilCursor != (screenPoint{}):
		return "until_cursor"
	}
	return ""
}

// wait returns the condition on the screen. limit is the time of the call, and at has the names of the arguments.
func (a *screenArgs) wait(
	ch *schema.Checker, limit time.Duration, at func(string) string,
) (w session.ScreenWait, err error) {
	if w.Stable = time.Duration(a.UntilStableMS) * time.Millisecond; w.Stable > limit {
		return w, ch.Invalid(at("until_stable_ms"), nil,
			"%s (%d) is longer than timeout_ms (%d), so it could never be reached; raise timeout_ms",
			at("until_stable_ms"), a.UntilStableMS, limit.Milliseconds())
	}
	if w.Cursor = a.UntilCursor.point(); w.Cursor.Row == 0 && w.Cursor.Col > 0 {
		return w, ch.Invalid(at("until_cursor"), nil, "%s needs a row; rows and columns count from 1", at("until_cursor"))
	}
	if a.UntilScreen != "" {
		w.Shows, err = schema.RegexpArgument(at("until_screen"), a.UntilScreen)
	}
	return w, err
}

// showsScreen decides whether the result of a call has the screen, and checks that its arguments go together. An
// argument that only a screen can have meant is enough.
func (in *ioArgs) showsScreen(c *toolset.Call) (bool, error) {
	ch := c.Checker()
	asks := in.asks()
	if n := len(in.Steps); n > 0 && asks == "" {
		asks = in.Steps[n-1].waitsForScreen()
	}
	switch {
	case in.Theme != "" && in.Format != formatPNG:
		return false, ch.Invalid("theme", nil, "theme is for format png; give format png, or leave theme out")
	case in.Theme != "" && !slices.Contains(picture.Themes(), in.Theme):
		return false, ch.Invalid("theme", picture.Themes(), "theme %q does not exist; use one of %s",
			schema.Shorten(in.Theme), strings.Join(picture.Themes(), ", "))
	case in.onScreen():
	case asks == "":
		return false, nil
	case in.Format != "":
		return false, ch.Invalid(asks, nil, "%s is for format screen or png, not for format %s; give format screen, or leave %s out",
			asks, in.Format, asks)
	}
	in.Format = cmp.Or(in.Format, formatScreen)
	for _, other := range []struct {
		name  string
		given bool
		do    string
	}{
		{"until_regex", in.UntilRegex != "", "give until_screen, which matches the rows"},
		{"exec_id", in.ExecID != "", "the output of a command has no screen; leave format out"},
		{"stream", in.Stream != "", "leave it out"},
		{"match", in.Match != "", "rows chooses among the rows of a screen"},
		{"context", in.Context > 0, "leave it out"},
		{"mode", in.Mode == "tail", "leave it out: the screen is the end of the output; rows chooses among its rows"},
		{"max_lines", in.MaxLines > 0, "rows chooses among the rows of a screen"},
		{"include_match", isFalse(in.IncludeMatch), "leave it out"},
		{"encoding", in.Encoding == "base64", "the screen is text; leave it out"},
	} {
		if other.given {
			return false, ch.Invalid(other.name, nil, "%s is for output, and format %s returns the screen: %s",
				other.name, in.Format, other.do)
		}
	}
	if _, err := in.since(ch); err != nil {
		return true, err
	}
	_, _, err := in.rows(ch)
	return true, err
}

// onScreen reports whether the result has the screen.
func (in *ioArgs) onScreen() bool { return in.Format == formatScreen || in.Format == formatPNG }

// since reads the version of the screen that the caller knows, 0: none. The text of a screen has a v before it.
func (a *screenArgs) since(ch *schema.Checker) (uint64, error) {
	if a.Since == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(a.Since, "v"), 10, 64)
	if err != nil {
		return 0, ch.Invalid("since", nil, "since %q is no version: give the version of an earlier result, or leave since out for all rows",
			schema.Shorten(a.Since))
	}
	return n, nil
}

// rows reads the range of rows that the call asks for; 0, 0: all.
func (a *screenArgs) rows(ch *schema.Checker) (first, last int, err error) {
	if a.Rows == "" {
		return 0, 0, nil
	}
	from, to, ok := strings.Cut(a.Rows, "-")
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if to = strings.TrimSpace(to); ok && to != "" && err == nil {
		last, err = strconv.Atoi(to)
	} else if ok && err == nil {
		last = max(first, maxRow)
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, ch.Invalid("rows", nil, "rows %q is no range: give a row, or the first and the last, such as 5-12",
			schema.Shorten(a.Rows))
	}
	return first, last, nil
}

// maxRow is the last row that a screen may have.
const maxRow = 1000

// cutScreen cuts the text of a screen to a length in bytes, at the end of a row, and says which rows are missing.
func cutScreen(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const room = len("(cut by max_bytes: read rows 1000-1000)\n")
	kept := text[:max(0, most-room)]
	kept = kept[:strings.LastIndexByte(kept, '\n')+1]
	if strings.HasPrefix(text[len(kept):], "<-") { // the mark of the last row, which comes with it
		kept = kept[:strings.LastIndexByte(strings.TrimSuffix(kept, "\n"), '\n')+1]
	}
	note := fmt.Sprintf("(cut by max_bytes: read rows %d-)\n", rowAfter(kept))
	if len(kept)+len(note) > most { // not even that has room
		return strings.ToValidUTF8(text[:most], "")
	}
	return kept + note
}

// rowAfter returns the number of the row behind the last one of a screen's text.
func rowAfter(text string) int {
	next := 1
	for line := range strings.Lines(text) {
		number, _, row := strings.Cut(line, "|")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if row && err == nil {
			next = n + 1
		} else if _, err := fmt.Sscanf(line, "(%d empty)", &n); err == nil {
			next += n
		} else if _, err := fmt.Sscanf(line, "(%d row", &n); err == nil {
			next += n
		}
	}
	return next
}

// waitsForScreen returns the name of the first condition of the step on the screen, or "".
func (st *ioStep) waitsForScreen() string { a := st.screen(); return a.waits() }

// screen are the conditions of the step.
func (st *ioStep) screen() screenArgs {
	return screenArgs{UntilScreen: st.UntilScreen, UntilStableMS: st.UntilStableMS}
}

// formatFor is the format of a call that looks at output, not at a screen.
func formatFor(c *toolset.Call, in *ioArgs) (string, error) {
	if in.onScreen() {
		return "", c.Invalid("format", "format "+in.Format+" is for read and write; search looks at the output: leave format out")
	}
	return cmp.Or(in.Format, formatOf(c, "", in.Encoding)), nil
}
