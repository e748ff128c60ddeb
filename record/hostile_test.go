package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forged is the header of a recording that ptyctl has not made.
const forged = `{"version":3,"term":{"cols":80,"rows":24},"title":"t\u009b31m</title><script>","ptyctl":{"session":"s\u001b]0;x\u0007"}}` + "\n"

// forgedEvents have sequences that no person's terminal should get.
const forgedEvents = `[0, "o", "\u001b]52;c;ZXZpbA==\u0007\u001bP+q544e\u001b\\\u009b31mred</text><script>\u001b]0;"]
[1, "m", "\u001b]0;x\u0007mark\u009b1m"]
`

func fileOf(tb testing.TB, cast string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "a.cast")
	if err := os.WriteFile(path, []byte(cast), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// TestHostileSequences: no export of a recording has a control character, even if the recording is forged.
func TestHostileSequences(t *testing.T) {
	path := fileOf(t, forged+forgedEvents)
	exports := map[string]func(b *bytes.Buffer) error{
		"v2":  func(b *bytes.Buffer) error { return V2(b, open(t, path)) },
		"txt": func(b *bytes.Buffer) error { return Text(b, open(t, path)) },
		"svg": func(b *bytes.Buffer) error {
			p, err := Play(path)
			if err == nil {
				defer p.Close()
				_, err = SVG(b, p, SVGOptions{})
			}
			return err
		},
	}
	for form, export := range exports {
		var b bytes.Buffer
		if err := export(&b); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' || 0x7f <= r && r < 0xa0 }); i >= 0 {
			t.Errorf("%s has a control character at %d: %q", form, i, b.String())
		}
		if form == "svg" && strings.Contains(b.String(), "<script") {
			t.Errorf("the text of the picture is not escaped:\n%s", b.String())
		}
		if !strings.Contains(b.String(), "red") {
			t.Errorf("%s does not have the text: %q", form, b.String())
		}
	}
}

// TestHostileFiles: a file that is no recording, or is a forged one, is an error at most.
func TestHostileFiles(t *testing.T) {
	for name, c := range map[string]struct{ cast, says string }{
		"no line":      {"{", "the first line is not complete"},
		"nothing":      {"", "the file is empty"},
		"v2":           {`{"version":2,"width":80,"height":24}` + "\n", "not the header of an asciicast v3"},
		"deep":         {strings.Repeat("[", 100_000) + "\n", "not the header of an asciicast v3"},
		"no size":      {`{"version":3,"term":{"cols":-1,"rows":24}}` + "\n", "no size of the terminal"},
		"a huge line":  {forged + `[0, "o", "` + strings.Repeat("x", maxLineBytes+1<<20) + `"]` + "\n", "longer than any"},
		"a time back":  {forged + `[-1, "o", "x"]` + "\n", "not an event"},
		"no number":    {forged + `[NaN, "o", "x"]` + "\n", "not an event"},
		"a long time":  {forged + `[1e300, "o", "x"]` + "\n", "not an event"},
		"long times":   {forged + strings.Repeat(`[3000000000, "o", "x"]`+"\n", 6), ""},
		"a huge size":  {`{"version":3,"term":{"cols":2000000000,"rows":2000000000}}` + "\n" + `[0, "r", "999999999x999999999"]` + "\n", ""},
		"many views":   {forged + strings.Repeat("# ptyctl view commands\n[0, \"o\", \"x\"]\n# ptyctl view terminal\n[0, \"o\", \"x\"]\n", 1000), ""},
		"a great seal": {forged + "# ptyctl seal 99999999999999999999 end sha256=x prev=\n", ""},
	} {
		p, err := Play(fileOf(t, c.cast))
		if err == nil {
			if err = p.Seek(maxTime); err == nil && (p.Time() < 0 || p.Time() > maxTime) {
				t.Errorf("%s: the time is %v", name, p.Time())
			}
			_ = p.Close()
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: error %v, want %q", name, err, c.says)
		}
	}
	if d := maxTime; d+d < 0 {
		t.Errorf("two times of %v have no sum", d)
	}
}
