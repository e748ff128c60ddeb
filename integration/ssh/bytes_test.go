package ssh

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ptyctl/internal/lab"
)

// awkwardFiles are contents that a way with text in it would change.
var awkwardFiles = map[string]string{
	"empty":                        "",
	"only line ends":               "\n\n\n",
	"no final line end":            "one\ntwo",
	"CR LF":                        "one\r\ntwo\r\n",
	"CR alone":                     "one\rtwo\rthree",
	"LF CR":                        "one\n\rtwo\n\r",
	"a progress bar":               " 10%\r 20%\r100%\n",
	"tabs and blanks":              "\ta\t \tb  \n \n\t",
	"backspaces":                   "ab\bc\b\b\b_\b_\n",
	"DEL and other controls":       "a\x7fb\x01\x02\x05\x0e\x0f\x1a\x1c\n",
	"NUL":                          "a\x00b\x00\x00\n",
	"every ASCII character":        ascii(),
	"BOM":                          "\ufefftext\n",
	"bidi and zero width":          "a\u202eb\u2066c\u200bd\u200e\u00ade\n",
	"line separators":              "a\u2028b\u2029c\u0085d\n",
	"wide and combined":            "日本 e\u0301 👩‍👩‍👧 \U0010ffff\n",
	"private and noncharacters":    "\ue000\ufffe\uffff\ufffd\n",
	"C1 in UTF-8":                  "a\u0080\u009b31mb\u009d0;t\u009c\n",
	"C1 in bytes":                  "a\x9b31mb\x9d0;t\x9c\n",
	"Latin-1":                      "caf\xe9 \xfcber\r\n",
	"UTF-16":                       "\xff\xfea\x00b\x00\n\x00",
	"UTF-8 cut at the end":         "caf\xc3",
	"UTF-8 cut in the middle":      "a\xe6\x97b\n",
	"surrogates":                   "a\xed\xa0\x80b\n",
	"colours":                      "\x1b[1;31mred\x1b[0m and \x1b[38;5;12mblue\x1b[m \x1b[4:3mcurly\x1b[24m\n",
	"colours over lines":           "\x1b[32m+ a\n+ b\x1b[0m\n",
	"colours in Latin-1":           "\x1b[31mcaf\xe9\x1b[0m\n",
	"a colour cut at the end":      "x\x1b[3",
	"ESC at the end":               "x\x1b",
	"a title":                      "\x1b]0;title\ax\x1b]8;;http://a.b/\x1b\\link\x1b]8;;\x1b\\\n",
	"a screen":                     "\x1b[?1049h\x1b[2J\x1b[5;5Hx\x1b7\x1b(0q\x1b(B\x1b8\x1b[K\x1bc\n",
	"nested ESC":                   "\x1b\x1b[1m\x1b[\x1b[2mx\x1b[1;\x1b[3my\n",
	"device strings":               "\x1bP1$r0m\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\\n",
	"text that looks like an ESC":  `\x1b[31m \u001b[0m ^[[1m` + "\n",
	"JSON and marks":               "{\"a\":\"\\\"</script>&<>\"}\n[... 5 bytes left out ...]\n--\n",
	"1 MiB in one line":            strings.Repeat("0123456789abcdef", 1<<16),
	"1 MiB in lines with CR LF":    strings.Repeat("0123456789abc\r\n\n", 1<<16),
	"a very long line of UTF-8":    "x" + strings.Repeat("日本語", 30_000),
	"a very long line of colours":  strings.Repeat("\x1b[31mé\x1b[0;1m\x1b]", 10_000),
	"a very long text of Latin-1":  strings.Repeat("caf\xe9 ", 30_000),
	"many line ends":               strings.Repeat("\n", 100_000),
	"many bytes that are no UTF-8": strings.Repeat("\x80", 50_000),
}

// ascii returns the ASCII characters.
func ascii() string {
	var b strings.Builder
	for c := range byte(128) {
		b.WriteByte(c)
	}
	return b.String()
}

var sgr = regexp.MustCompile(`\x1b\[[0-9:;]*m`)

// shown is the form in a result of output that was not made for a terminal: text without its colours, in which any
// other ESC is visible, and other bytes unchanged.
func shown(content string) string {
	if !utf8.ValidString(content) {
		return content
	}
	return strings.ReplaceAll(sgr.ReplaceAllString(content, ""), "\x1b", `\x1b`)
}

// A command beside the terminal, and a program on this machine, bring the content of a file, byte for byte, with these
// exceptions only. The part cut from the result is read by its exec_id.
func TestBytesOfFiles(t *testing.T) {
	s := lab.StartSSHD(t)
	h := lab.HomeFor(t, []*lab.SSHD{s})
	c := h.Connect(t)
	id := c.Open(t, s)
	defer c.Close(t, id)
	dir := t.TempDir()
	for name, content := range awkwardFiles {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			r := c.Call(t, lab.ToolExec, `{"session_id":%s,"argv":["cat",%s]}`, id, file)
			checkBytes(t, c, r, id, content)
			r = c.Call(t, lab.ToolRun, `{"argv":["cat",%s]}`, file)
			checkBytes(t, c, r, r.SessionID, content)

			raw := c.Call(t, lab.ToolExec, `{"session_id":%s,"argv":["cat",%s],"format":"raw","max_output_bytes":2000000}`, id, file)
			if got := decoded(t, raw.Stdout, raw.StdoutEncoding); raw.StdoutOmitted == nil && got != content {
				t.Errorf("cat with format raw gives %d bytes, %.200q; want %d, %.200q", len(got), got, len(content), content)
			}
			errs := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":%s}`, id, "cat '"+file+"' >&2")
			if len(content) < 16<<10 && decoded(t, errs.Stderr, errs.StderrEncoding) != shown(content) {
				t.Errorf("cat to stderr gives %q, want %q", errs.Stderr, shown(content))
			}
		})
	}
}

// checkBytes checks the output of a command against its source.
func checkBytes(t *testing.T, c *lab.Client, r lab.Result, id, content string) {
	t.Helper()
	got, want := decoded(t, r.Stdout, r.StdoutEncoding), shown(content)
	if cut := r.StdoutOmitted; cut != nil {
		head, tail := got[:cut.At], got[cut.At:]
		if r.StdoutEncoding != "base64" {
			tail = tail[strings.Index(tail, " left out ...]\n")+len(" left out ...]\n"):]
		}
		cursor, end := cut.Cursor, number(t, cut.Cursor)+cut.Bytes
		var middle strings.Builder
		for number(t, cursor) < end {
			part := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"exec_id":%s,"cursor":%s,"max_bytes":%s}`,
				id, r.ExecID, cursor, min(end-number(t, cursor), 99_999))
			if part.NextCursor == cursor {
				t.Fatalf("a read at %s of %d gets no further: %s", cursor, end, lab.Tail(part.Text, 500))
			}
			middle.WriteString(decoded(t, part.Chunk, part.Encoding))
			cursor = part.NextCursor
		}
		got = head + middle.String() + tail
	}
	if got != want {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("cat gives %d bytes, want %d; from byte %d on: %.100q, want %.100q", len(got), len(want), at, got[at:], want[at:])
	}
}

// decoded returns output that has come in an encoding.
func decoded(t *testing.T, text, encoding string) string {
	t.Helper()
	if encoding != "base64" {
		return text
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// number returns the number that a cursor is.
func number(t *testing.T, cursor string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
