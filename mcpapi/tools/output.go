package tools

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
)

// The formats of output: as it came, and as text for reading.
const (
	formatRaw = "raw"
)

// formatOf returns the format of a call, which may ask for none. Base64 without a format asks for the bytes.
func formatOf(c *toolset.Call, format, encoding string) string {
	if format == "" && encoding == "base64" {
		return formatRaw
	}
	return cmp.Or(format, c.Limits().Format)
}

// matchArgs choose the lines of a command's output.
type matchArgs struct {
	Match   string `json:"match" is:"filled" doc:"only such lines (RE2)" eg:"'match':'(?i)error'"`
	Context int    `json:"context" max:"50" doc:"lines around" eg:"'context':2,'match':'(?i)error'"`
}

// filter returns the filter of a call, nil if it wants all lines.
func (m matchArgs) filter(c *toolset.Call, format string) (*session.Filter, error) {
	if m.Match == "" {
		if m.Context > 0 {
			return nil, c.Checker().Invalid("context", nil, "context is for the lines around those of match; give match, or leave context out")
		}
		return nil, nil
	}
	re, err := schema.RegexpArgument("match", m.Match)
	if err != nil {
		return nil, err
	}
	return &session.Filter{Pattern: re, Context: m.Context, Clean: format != formatRaw}, nil
}

// matchedOut counts the lines of an output from which match has chosen.
type matchedOut struct {
	MatchedLines *int `json:"matched_lines,omitempty"`
	TotalLines   *int `json:"total_lines,omitempty"` // looked at
}

// beside returns the compact form of m next to text: without the number of matches if text has only these lines.
func (m matchedOut) beside(text string) matchedOut {
	if m.MatchedLines != nil && *m.MatchedLines == len(slices.Collect(strings.Lines(text))) {
		m.MatchedLines = nil
	}
	return m
}

// seen reads on if a read has returned at once and clean text shows nothing of it, for example when a terminal only
// changes its modes. The caller would only read again.
func seen(ctx context.Context, s *session.Session, r session.ReadRequest, k session.Chunk) session.Chunk {
	began := time.Now()
	for k.Reason == session.ReasonData && !k.EOF {
		if text, removed := k.Clean(); len(text) > 0 || newSanitized(removed).hiding() != nil {
			break
		}
		dropped, gaps := k.Dropped, k.Gaps
		r.Cursor = k.Next
		k = s.Read(ctx, r.Within(r.Timeout-time.Since(began)))
		k.Dropped, k.Gaps = k.Dropped+dropped, append(gaps, k.Gaps...)
	}
	return k
}

// show adds a chunk of terminal output to the result, in the requested format and only those of its lines that are
// wanted; nil: all. If the chunk reaches the end of the output, show adds the question that the terminal seems to ask.
func show(
	ctx context.Context, c *toolset.Call, s *session.Session, k session.Chunk, in *ioArgs, lines *session.Filter, out *ioOut,
) {
	if k.Unsearched > 0 {
		c.Inform(fmt.Sprintf("%d bytes were dropped before until_regex was looked for in them: the output came faster; "+
			"send it to a file and search that, or have the operator raise "+
			"session.output_buffer_max_bytes", k.Unsearched))
	}
	if k.Reason == session.ReasonTimeout && in.UntilRegex != "" && !k.OwnEcho && len(k.Gaps) == 0 {
		adviseFormat(c, k, in)
	}
	k = out.form(ctx, k, in, lines)
	if k.EOF {
		out.EndCode = s.Info().End.Code
	}
	// Only at the end of the output can its last line be the one that waits; further back it is history.
	if k.Next == k.Buffer.End && !k.EOF && s.State() == session.Open {
		out.WaitingFor = (*wire.Waiting)(s.Waiting())
	}
}

// adviseFormat says that a pattern which did not match would have done so in the other format.
func adviseFormat(c *toolset.Call, k session.Chunk, in *ioArgs) {
	text, _ := k.Clean()
	switch {
	case in.Format == formatRaw && matchesLine(in.UntilRegex, text):
		c.Inform("until_regex did not match the raw bytes, which have escape sequences and CR LF; " +
			"it would match with format clean")
	case in.Format != formatRaw && matchesLine(in.UntilRegex, k.Data):
		c.Inform("until_regex did not match the clean text, which has no escape sequences and ends lines with LF alone; " +
			"it would match with format raw")
	}
}

// matchesLine reports whether the pattern matches in text, where $ is the end of any line.
func matchesLine(pattern string, text []byte) bool {
	re, err := regexp.Compile("(?m)" + pattern)
	return err == nil && re.Match(text)
}

// form adds a chunk to the result, in the requested format and only those of its lines that are wanted; nil: all. It
// returns the chunk as it is there.
func (out *ioOut) form(ctx context.Context, k session.Chunk, in *ioArgs, lines *session.Filter) session.Chunk {
	var removed *sanitized
	var counts matchedOut
	switch {
	case lines != nil:
		var got session.Filtered
		k, got = k.Match(ctx, *lines)
		counts, removed = matchedOut{&got.Matches, &got.Lines}, newSanitized(got.Removed)
	case in.Format != formatRaw: // raw output is not changed, and its cursors count raw bytes either way
		text, hidden := k.Clean()
		k.Data, removed = text, newSanitized(hidden)
	}
	out.show(k, in.Encoding)
	out.Sanitized, out.matchedOut = removed, counts
	return k
}

// show adds a chunk to the result.
func (out *ioOut) show(k session.Chunk, encoding string) {
	out.readOut, out.WaitingForInput = newReadOut(k, encoding), k.Reason == session.ReasonInput
}

// newReadOut is the wire form of a chunk: text if it is UTF-8, unless base64 was asked for.
func newReadOut(k session.Chunk, encoding string) *readOut {
	out := &readOut{
		Encoding: "utf-8", NextCursor: strconv.FormatInt(k.Next, 10),
		BufferStartCursor: strconv.FormatInt(k.Buffer.Start, 10), BufferEndCursor: strconv.FormatInt(k.Buffer.End, 10),
		Matched: k.Reason == session.ReasonMatched, IdleReached: k.Reason == session.ReasonIdle || k.Reason == session.ReasonStable,
		Full: k.Reason == session.ReasonFull, UnsearchedBytes: k.Unsearched,
		TimedOut: k.Reason == session.ReasonTimeout, EOF: k.EOF,
		Truncated: k.Dropped > 0, DroppedBytes: k.Dropped, Gaps: wire.Cursors(k.Gaps),
		BufferedBytes: k.Buffer.End - k.Buffer.Start, BufferLimitBytes: k.Buffer.Limit,
	}
	// JSON strings are Unicode. Replacing the bad bytes would change the output, so the whole chunk changes
	// its encoding.
	if encoding == "base64" || !utf8.Valid(k.Data) {
		out.Chunk, out.Encoding = base64.StdEncoding.EncodeToString(k.Data), "base64"
		return out
	}
	out.Chunk = string(k.Data)
	return out
}

// shownOut has the members that say which part of a command's output stdout and stderr are.
type shownOut struct {
	Truncated      bool       `json:"truncated"`
	StdoutEncoding string     `json:"stdout_encoding,omitempty"`
	StderrEncoding string     `json:"stderr_encoding,omitempty"`
	StdoutBytes    int64      `json:"stdout_bytes,omitempty"`
	StderrBytes    int64      `json:"stderr_bytes,omitempty"`
	StdoutOmitted  *omitted   `json:"stdout_omitted,omitempty"`
	StderrOmitted  *omitted   `json:"stderr_omitted,omitempty"`
	Sanitized      *sanitized `json:"sanitized,omitempty"` // of both
	matchedOut                // of stdout
	StderrMatched  *int       `json:"stderr_matched_lines,omitempty"` // absent: stderr is short, and all there
	StderrLines    *int       `json:"stderr_total_lines,omitempty"`
	Unsearched     int64      `json:"unsearched_bytes,omitempty"` // of both; no longer held
}

// omitted describes the part of a stream that was left out of the result, and how to read it.
type omitted struct {
	At     int    `json:"at"` // offset within the returned stream, decoded, at which the cut is
	Bytes  int64  `json:"bytes"`
	Lost   int64  `json:"lost,omitempty"` // bytes of these that are no longer held
	Cursor string `json:"cursor"`         // to read it with ptyctl_session_io read {exec_id, stream, cursor}
}

// put describes the output of a command, and returns it as it came or for reading.
func (out *shownOut) put(r session.ExecResult, raw bool) (stdout, stderr string) {
	out.StdoutBytes, out.StderrBytes = r.Stdout.Total, r.Stderr.Total
	var a, b session.Sanitized
	if f := r.StdoutLines; f != nil {
		out.matchedOut = matchedOut{&f.Matches, &f.Lines}
		out.Unsearched = f.Unsearched
		stdout, out.StdoutEncoding, out.StdoutOmitted, a = linesOut(f, r.Stdout)
	} else {
		stdout, out.StdoutEncoding, out.StdoutOmitted, a = streamOut(r, r.Stdout, raw)
	}
	if f := r.StderrLines; f != nil {
		out.StderrMatched, out.StderrLines = &f.Matches, &f.Lines
		out.Unsearched += f.Unsearched
		stderr, out.StderrEncoding, out.StderrOmitted, b = linesOut(f, r.Stderr)
	} else {
		stderr, out.StderrEncoding, out.StderrOmitted, b = streamOut(r, r.Stderr, raw)
	}
	out.Truncated = out.StdoutOmitted != nil || out.StderrOmitted != nil || out.Unsearched > 0
	out.Sanitized = newSanitized(a.Plus(b))
	return stdout, stderr
}

// filtered reports whether match has left out lines.
func (out shownOut) filtered() bool {
	return out.MatchedLines != nil && *out.MatchedLines < *out.TotalLines ||
		out.StderrMatched != nil && *out.StderrMatched < *out.StderrLines
}

// linesOut is the wire form of the lines of a stream that match.
func linesOut(f *session.Filtered, o session.Output) (text, encoding string, cut *omitted, removed session.Sanitized) {
	if f.Full {
		cut = &omitted{
			At: len(f.Text), Bytes: o.Total - f.Next, Lost: o.Lost(f.Next, o.Total), Cursor: strconv.FormatInt(f.Next, 10),
		}
	}
	switch {
	case !utf8.Valid(f.Text):
		return base64.StdEncoding.EncodeToString(f.Text), "base64", cut, f.Removed
	case cut == nil:
		return string(f.Text), "", nil, f.Removed
	case f.Matches == f.Shown:
		return string(f.Text) + "[... lines around the last match left out ...]\n", "", cut, f.Removed
	}
	return fmt.Sprintf("%s[... %d of %d matching lines left out ...]\n", f.Text, f.Matches-f.Shown, f.Matches), "", cut, f.Removed
}

// compact leaves out the sizes of complete outputs.
func (out shownOut) compact(stdout string) shownOut {
	out.matchedOut = out.beside(stdout)
	if out.StdoutOmitted == nil {
		out.StdoutBytes = 0
	}
	if out.StderrOmitted == nil {
		out.StderrBytes = 0
	}
	out.Sanitized = out.Sanitized.hiding()
	return out
}

// startCursor returns the cursor of a stream's first byte in a result, empty for the beginning of the stream.
func startCursor(o session.Output) string {
	if o.Start == 0 {
		return ""
	}
	return strconv.FormatInt(o.Start, 10)
}

// streamOut is the wire form of a stream: text if all of it is UTF-8, with the cut marked; else base64.
func streamOut(r session.ExecResult, o session.Output, raw bool) (
	text, encoding string, cut *omitted, removed session.Sanitized,
) {
	head, tail := o.Head, o.Tail
	switch {
	case !raw:
		head, tail, removed = r.Clean(o)
	case o.Complete():
		head, tail = o.Bytes(), nil
	}
	if !o.Complete() {
		// The part of the middle that is held can still be read: the cursor is where it begins.
		cut = &omitted{
			At: len(head), Bytes: o.Omitted(), Lost: o.Lost(o.Cut(), o.TailStart), Cursor: strconv.FormatInt(o.Cut(), 10),
		}
	}
	switch {
	// The two ends are judged apart: the cut may lie within a character, which is no reason for base64 where
	// both are whole.
	case !utf8.Valid(head) || !utf8.Valid(tail):
		return base64.StdEncoding.EncodeToString(append(slices.Clip(head), tail...)), "base64", cut, removed
	case cut == nil:
		return string(head), "", nil, removed
	}
	lost := ""
	if cut.Lost > 0 {
		lost = fmt.Sprintf(", %d of them no longer held", cut.Lost)
	}
	return fmt.Sprintf("%s\n[... %d bytes left out%s ...]\n%s", head, cut.Bytes, lost, tail), "", cut, removed
}

// streamNeedsExec is the error for a stream of no command.
func streamNeedsExec(c *toolset.Call) error {
	return c.Invalid("exec_id",
		"stream needs exec_id: the command whose stream to read; leave it out for the terminal")
}

// sanitized counts, by kind, the control sequences removed from clean text.
type sanitized struct {
	CSI       int `json:"csi,omitempty"`
	OSC       int `json:"osc,omitempty"`
	DCS       int `json:"dcs,omitempty"`
	Other     int `json:"other,omitempty"`
	Controls  int `json:"controls,omitempty"`
	Bidi      int `json:"bidi,omitempty"`
	ZeroWidth int `json:"zero_width,omitempty"`
	BadUTF8   int `json:"bad_utf8,omitempty"`
	Hidden    int `json:"hidden,omitempty"`
	Rewritten int `json:"rewritten,omitempty"`
	Escapes   int `json:"escapes,omitempty"` // ESC characters that are \x1b in the text
}

// newSanitized is the wire form of s; nil if nothing was removed, so that the member is left out.
func newSanitized(s session.Sanitized) *sanitized {
	if s == (session.Sanitized{}) {
		return nil
	}
	out := sanitized(s)
	return &out
}

// hiding returns the counts of the removed parts that could deceive a reader, or nil if all are zero. It leaves out
// colours, movements of the cursor, titles and overwritten text: a screen shows the same without them.
func (s *sanitized) hiding() *sanitized {
	if s == nil {
		return nil
	}
	return newSanitized(session.Sanitized{
		DCS: s.DCS, Bidi: s.Bidi, ZeroWidth: s.ZeroWidth, BadUTF8: s.BadUTF8, Hidden: s.Hidden, Escapes: s.Escapes,
	})
}

// cursorArgument reads a cursor. It is a decimal string: 64-bit offsets do not survive a client that keeps numbers as
// floats.
func cursorArgument(ch *schema.Checker, path, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, ch.Invalid(path, nil, "%s %q is none: pass a next_cursor or cursor from a result, or 0 for the oldest output",
			path, schema.Shorten(text))
	}
	return n, nil
}
