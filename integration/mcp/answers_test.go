package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// results are the forms of results, as --results names them.
var results = []string{"compact", "full", "text"}

// An answerCase is a call and the name of its record. In arguments, $NAME is a value that an earlier call has kept.
type answerCase struct {
	name string // in the table; empty: the call only prepares others
	tool string
	args string
	keep string // NAME: the session, or exec, or next cursor that the answer names, by its first letter S, E or C
	slow bool   // it lasts for a second at least, so that the answer has its duration
	then func(*answerSite)
}

// TestAnswers records the answers to the calls of answerCases, in each form, and their cost. The
// records lie in testdata/answers.txtar, the costs in docs/answers.md.
func TestAnswers(t *testing.T) {
	t.Parallel()
	records := make([][]record, len(results)) // by form
	t.Run("record", func(t *testing.T) {
		for i, form := range results {
			t.Run(form, func(t *testing.T) {
				t.Parallel()
				site := newAnswerSite(t)
				records[i] = append(site.record(form, answerCases), site.record(form, listCases)...)
			})
		}
	})
	if t.Failed() {
		return
	}
	var names, texts []string
	var file strings.Builder
	file.WriteString("Answers of the program in each form of results. Ids, times and what else differs from run to run " +
		"is replaced\nby values of the usual length. go test ./integration/mcp -run TestAnswers -update records them.\n")
	for i, r := range records[0] {
		names = append(names, r.name)
		for j, form := range results {
			text := records[j][i].text
			if lab.ThroughCluster && r.name == "health" { // counts the sessions of the client's node
				text = recorded(t, r.name+": "+form) + text[len(strings.TrimSuffix(text, "\n")):]
			}
			texts = append(texts, text)
			fmt.Fprintf(&file, "-- %s: %s --\n%s\n", r.name, form, strings.TrimSuffix(text, "\n"))
		}
	}
	compareAnswers(t, file.String())
	measured := costs(t, texts...)
	docPart(t, "answers.md", "answers", costTable(names, measured))
	for i, name := range names {
		if most, ok := mostBytes[name]; ok && measured[i*len(results)].bytes > most {
			t.Errorf("%s costs %d bytes, want at most %d: %s", name, measured[i*len(results)].bytes, most, texts[i*len(results)])
		}
	}
}

// mostBytes are the most that some answers may cost in the compact form.
var mostBytes = map[string]int{
	"exec, a word": 40, "read that got nothing": 45, "open, SSH": 60, "list of 1": 80, "list of 3": 3 * 80,
	"list of 100": 100 * 80,
}

// A record is an answer with fixed values in place of those that differ from run to run.
type record struct{ name, text string }

// record makes the calls in one form.
func (site *answerSite) record(form string, cases []answerCase) (list []record) {
	t := site.t
	t.Helper()
	site.reset()
	site.home.StopDaemons(t) // with the sessions of the answers before
	c := site.home.Connect(t, "--results", form)
	kept := map[string]string{}
	maps.Copy(kept, site.ports)
	for _, a := range cases {
		args := os.Expand(a.args, func(name string) string {
			if value, ok := kept[name]; ok {
				return value
			}
			return "$" + name
		})
		text := site.call(c.Tools, a.tool, args)
		if a.keep != "" {
			at := keeping[a.keep[0]].FindStringSubmatch(text)
			if at == nil {
				t.Fatalf("%s %s: the answer %s has nothing to keep as %s", a.tool, args, lab.Tail(text, 1000), a.keep)
			}
			kept[a.keep] = at[1]
		}
		if a.name != "" {
			list = append(list, record{a.name, settle(text, form, a.slow)})
		}
		if a.then != nil {
			a.then(site)
		}
	}
	c.Session.Close()
	return list
}

// call makes a call and returns the text of its answer.
func (site *answerSite) call(c lab.Tools, tool, args string) string {
	site.t.Helper()
	return site.answer(c, tool, args).Content[0].Text
}

// answer makes a call.
func (site *answerSite) answer(c lab.Tools, tool, args string) lab.ToolAnswer {
	site.t.Helper()
	ctx, cancel := context.WithTimeout(site.t.Context(), lab.Patience)
	defer cancel()
	session := c.Heard.Call(site.t, args)
	answer, err := c.CallTool(ctx, tool, json.RawMessage(args))
	if err != nil || len(answer.Content) != 1 {
		site.t.Fatalf("%s %s: %+v, %v", tool, args, answer, err)
	}
	c.Heard.Result(session, answer.Content[0].Text)
	return answer
}

// keeping finds the values for a later call in an answer of any form.
var keeping = map[byte]*regexp.Regexp{
	'S': regexp.MustCompile(`"?([a-z0-9.-]+-[a-z2-7]{8}(?:@far)?)\b`),
	'E': regexp.MustCompile(`\b(exec-[a-z2-7]{8})\b`),
	'C': regexp.MustCompile(`cursor"?:? ?"([0-9]+)"`),
}

// volatile holds patterns of text that differs from run to run, and a value of the usual length for each.
var volatile = []struct {
	is  *regexp.Regexp
	now string
}{
	{regexp.MustCompile(`\b((?:web[0-9]+|db1|bash|127\.0\.0\.1|exec)-)[a-z2-7]{8}(?:@far)?\b`), "${1}k3f9q2zd"},
	{regexp.MustCompile(`\b((?:created|ended|started|drained|lock_expires|modified)_at"?[: ])[0-9]{13}\b`), "${1}1790000000000"},
	{regexp.MustCompile(`\b(last_(?:in|out|activity)"?[: ])[0-9]{13}\b`), "${1}1790000000000"},
	{regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z`), "2026-09-21T13:33:20Z"},
	{regexp.MustCompile(`\b(remaining_ms"?[: ])59[0-9]{4}\b`), "${1}599999"},
	{regexp.MustCompile(`\b((?:cpu_ms|uptime_s)"?[: ])[0-9]+`), "${1}7"},
	{regexp.MustCompile(`\b((?:buffered_bytes|bytes_in)"?[: ])[0-9]{3,7}\b`), "${1}2700"},
	{regexp.MustCompile(`\b(pid"?[: ])[0-9]+\b`), "${1}2700"},
	{regexp.MustCompile(`\b(port"?[: ]|127\.0\.0\.1:|port )[0-9]{5}\b`), "${1}2222"},
	{regexp.MustCompile(`SHA256:[A-Za-z0-9+/]{43}`), "SHA256:" + strings.Repeat("k3f9q2zd", 6)[:43]},
	{regexp.MustCompile(`\b(go_version"?[: ]"?)go[0-9.]+`), "${1}go1.26.0"},
	{regexp.MustCompile(`/[^"\s]*/Test[^"\s]*/00[0-9]\b`), "/home/demo"},
	// Which options a device has agreed to when the answer is made is chance.
	{regexp.MustCompile(`"telnet":\{[^}]*\}`), `"telnet":{"raw":false,"remote":["echo","suppress_go_ahead"],"remote_echo":true,` +
		`"binary_in":false,"binary_out":false,"enter":"crnul"}`},
}

var (
	durationMember = regexp.MustCompile(`,"duration_ms":[0-9]+`)
	durationWord   = regexp.MustCompile(`^(\[[^\n]*) [0-9]+\.[0-9] s\b`)
	longStep       = regexp.MustCompile(`(\{"name":"(?:kex|auth)","ok":true)`)
)

// settle replaces the parts that differ from run to run. Durations may be reported or not, depending on how long a call
// took: those of slow calls are a second, and of other things only a key exchange and a login take a millisecond or
// more.
func settle(text, form string, slow bool) string {
	for _, v := range volatile {
		text = v.is.ReplaceAllString(text, v.now)
	}
	switch every := form == "full" || strings.HasPrefix(text, `{"error_code"`); {
	case slow:
		text = durationMember.ReplaceAllString(text, `,"duration_ms":1004`)
		return durationWord.ReplaceAllString(text, `${1} 1.0 s`)
	case every:
		return durationMember.ReplaceAllString(text, `,"duration_ms":7`)
	}
	text = durationWord.ReplaceAllString(durationMember.ReplaceAllString(text, ""), `${1}`)
	return longStep.ReplaceAllString(text, `${1},"duration_ms":7`)
}

// recorded returns the answer of that name in testdata/answers.txtar.
func recorded(t *testing.T, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(lab.ReadFile(t, filepath.Join("testdata", "answers.txtar"))), "\n-- "+name+" --\n")
	if !found {
		t.Fatalf("no answer %q is recorded", name)
	}
	text, _, _ := strings.Cut(rest, "\n-- ")
	return text
}

// compareAnswers compares the records with the file, answer by answer, or writes it there.
func compareAnswers(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", "answers.txtar")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) == got {
		return
	}
	t.Errorf("%s differs; if that is meant, run go test ./integration/mcp -run TestAnswers -update", path)
	was, is := strings.Split(string(old), "\n-- "), strings.Split(got, "\n-- ")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Errorf("recorded: %s\nnow:      %s", lab.Tail(was[i], 2000), lab.Tail(is[i], 2000))
		}
	}
}

// costTable is the table of the page: a row for each answer, with bytes and tokens in each form, and the sums.
func costTable(names []string, list []cost) string {
	var b strings.Builder
	b.WriteString("| answer | `compact` | `full` | `text` |\n|---|---|---|---|\n")
	sums := make([]cost, len(results))
	for i, name := range names {
		b.WriteString("| " + name)
		for j := range results {
			c := list[i*len(results)+j]
			sums[j].bytes, sums[j].tokens = sums[j].bytes+c.bytes, sums[j].tokens+c.tokens
			fmt.Fprintf(&b, " | %d / %d", c.bytes, c.tokens)
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "| **all %d**", len(names))
	for _, c := range sums {
		fmt.Fprintf(&b, " | **%d / %d**", c.bytes, c.tokens)
	}
	b.WriteString(" |\n")
	return b.String()
}
