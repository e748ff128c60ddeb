package record

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// sample is a recording in a file, with all kinds of events.
func sample(tb testing.TB) string {
	tb.Helper()
	cast := recorded(tb, Options{}, func(r *Recorder) {
		opening(r, 40, 6)
		r.Observe(output("$ ls\r\n\x1b[31mred\x1b[m <b>&amp; 日本\x1b]2;title\a\r\n"))
		time.Sleep(time.Second)
		ran(r, "exec-1", "uptime", "up 1 day\n", "", 0)
		time.Sleep(61 * time.Second)
		r.Observe(output("progress 10%\rprogress 99%"))
		time.Sleep(time.Second)
		r.Observe(output("\r\n$ "))
	})
	path := filepath.Join(tb.TempDir(), "a.cast")
	if err := os.WriteFile(path, cast, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func open(tb testing.TB, path string) *Reader {
	tb.Helper()
	r, err := Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	return r
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		if err := Text(&b, open(t, sample(t))); err != nil {
			t.Fatal(err)
		}
		const want = `   0:00.0 -- open alice@web1:22 by claude/t1 [call-7]
   0:00.0 -- state open: terminal 40x6
   0:00.0    $ ls
   0:00.0    red <b>&amp; 日本
   0:01.0 -- exec exec-1 (channel): uptime by claude/t1 [call-7]
   0:01.0    $ uptime
   0:01.0    up 1 day
   0:01.0 -- exec_end exec-1: exit 0, 1.5s by claude/t1 [call-7]
   0:01.0    [exec-1: exit 0, 1.5s]
   1:03.0    progress 99%
   1:03.0    $
`
		if got := regexp.MustCompile(` +\n`).ReplaceAllString(b.String(), "\n"); got != want {
			t.Errorf("text:\n%s\nwant\n%s", got, want)
		}
	})
}

func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []Match
		calls := 0
		err := Search(t.Context(), open(t, sample(t)), regexp.MustCompile(`up 1|99%|call-7`),
			func(int64, int64) { calls++ }, func(m Match) bool { got = append(got, m); return len(got) < 5 })
		if err != nil || len(got) != 5 || got[2].Text != "up 1 day" && got[3].Text != "up 1 day" || got[2].Marker != 3 {
			t.Errorf("%+v, %v; want two calls, the command and its output, and its end", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err = Search(ctx, open(t, sample(t)), regexp.MustCompile(""), nil, func(Match) bool { n++; cancel(); return true })
		if n != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("Search that is canceled at the first match has %d of them and ends with %v, want 1 and %v", n, err, context.Canceled)
		}
	})
}

func TestV2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		path := sample(t)
		if err := V2(&b, open(t, path)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		var head struct{ Version, Width, Height int }
		if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != 40 || head.Height != 6 {
			t.Errorf("header %s: %+v, %v", lines[0], head, err)
		}
		last := 0.0
		for _, line := range lines[1:] {
			var e [3]any
			if err := json.Unmarshal([]byte(line), &e); err != nil || e[0].(float64) < last {
				t.Fatalf("%s: %v", line, err)
			}
			last = e[0].(float64)
		}
		if last != 63 {
			t.Errorf("the last event is at %v s, want 63", last)
		}
	})
}

func TestSVG(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := sample(t)
		draw := func(o SVGOptions) (string, time.Duration) {
			p, err := Play(path)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var b bytes.Buffer
			cut, err := SVG(&b, p, o)
			if err != nil {
				t.Fatal(err)
			}
			d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%v in\n%s", err, b.String())
				}
			}
			return b.String(), cut
		}
		got, cut := draw(SVGOptions{})
		for _, want := range []string{
			`fill="#cd3131">red</text>`, `&lt;b&gt;&amp;amp; 日本</text>`, ">progress 99%</text>", ">up 1 day</text>",
			"animation:f 6.00s", `<title>web1-k3f9q2zd web1</title>`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		if strings.Contains(got, "progress 10%") || cut != 0 || strings.Count(got, ">$ ls</text>") != 1 {
			t.Errorf("cut at %v, or too much in\n%s", cut, got)
		}
		if small, cut := draw(SVGOptions{MaxBytes: 700}); cut == 0 || len(small) >= len(got) {
			t.Errorf("with a limit: %d bytes, cut at %v; want less than %d", len(small), cut, len(got))
		}
	})
}
