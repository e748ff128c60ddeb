package mcpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/mcpapi/stdio"
)

// TestConversations plays the files of testdata/conversations, which show the messages on the wire. Each file begins
// with prose and continues with sections: the client's messages, and the server's answers, line by line.
//
//	-- client --
//	{"jsonrpc":"2.0","id":1,"method":"ping"}
//	-- server --
//	{"jsonrpc":"2.0","id":1,"result":{}}
//
// <port> is the port of an SSH server where demo logs in with the password demo-1138, and otp with two answers. <n>
// matches any number and <time> any time. Any other <name> matches any text at its first occurrence, and the same
// text from then on, on both sides. With -update the server's lines are written again.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "conversations", "*.txtar"))
	if err != nil || len(files) < 5 {
		t.Fatalf("there are only %d conversations (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { playFile(t, file) })
	}
}

// A section has the lines of one side.
type section struct {
	side  string // "client" or "server"
	lines []string
}

// sections splits a file in the txtar format.
func sections(text string) (prose string, parts []section) {
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSuffix(line, "\n")
		name, ok := strings.CutPrefix(trimmed, "-- ")
		name, ok2 := strings.CutSuffix(name, " --")
		switch {
		case ok && ok2:
			parts = append(parts, section{side: name})
		case parts == nil:
			prose += line
		case trimmed != "":
			last := &parts[len(parts)-1]
			last.lines = append(last.lines, trimmed)
		}
	}
	return prose, parts
}

func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prose, parts := sections(string(text))
	l, srv := mcptest.NewServer(t,
		mcptest.Config{Options: mcpapi.Options{Results: identity.Full, Version: "0.0.0"}, SSH: sshserver.Config{
			Passwords:           map[string]string{"demo": "demo-1138"},
			KeyboardInteractive: mcptest.TwoQuestions.KeyboardInteractive,
		}})
	inR, in := io.Pipe()
	outR, outW := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		if err := stdio.Serve(context.Background(), srv, inR, outW, stdio.Options{}); err != nil {
			t.Error(err)
		}
		outW.Close()
	})
	answers := bufio.NewReader(io.TeeReader(outR, leaktest.Writer(t, "stdout")))
	defer running.Wait()
	defer outR.Close()
	defer in.Close()

	p := &play{bound: map[string]string{"port": strconv.Itoa(l.SSH.Port())}}
	var recorded bytes.Buffer
	recorded.WriteString(prose)
	for i, part := range parts {
		if want := []string{"client", "server"}[i%2]; part.side != want {
			t.Fatalf("section %d is of %q, want %s", i+1, part.side, want)
		}
		if part.side == "client" {
			fmt.Fprintf(&recorded, "-- client --\n%s\n-- server --\n", strings.Join(part.lines, "\n"))
			var expected []string
			if i+1 < len(parts) {
				expected = parts[i+1].lines
			}
			n := 0
			for _, line := range part.lines {
				if _, err := io.WriteString(in, p.say(line)+"\n"); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(line, `"method":"notifications/`) {
					continue // it has no answer
				}
				got, err := answers.ReadString('\n')
				if err != nil {
					t.Fatalf("no answer to %s: %v", line, err)
				}
				got = strings.TrimSuffix(got, "\n")
				if *update {
					recorded.WriteString(p.record(got) + "\n")
				} else if n < len(expected) {
					if err := p.expect(expected[n], got); err != nil {
						t.Errorf("after %s\n%v", line, err)
					}
				}
				n++
			}
			if n != len(expected) && !*update {
				t.Errorf("section %d wants %d answers to what has %d", i+2, len(expected), n)
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, recorded.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A play is a conversation under way.
type play struct {
	bound map[string]string // the values of the names
}

var wildcard = regexp.MustCompile(`<([a-z]+)>`)

// say returns a line of the client with its names replaced.
func (p *play) say(line string) string {
	return wildcard.ReplaceAllStringFunc(line, func(name string) string {
		if value, ok := p.bound[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

// expect compares a line with the wanted one, and binds the names that are new.
func (p *play) expect(want, got string) error {
	var pattern strings.Builder
	var names []string
	rest := want
	for {
		at := wildcard.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		name := rest[at[2]:at[3]]
		value, known := p.bound[name]
		switch {
		case name == "n":
			pattern.WriteString(`-?[0-9]+`)
		case name == "time":
			pattern.WriteString(`[0-9TZ:-]+`)
		case known:
			pattern.WriteString(regexp.QuoteMeta(value))
		default:
			pattern.WriteString(`(.+?)`)
			names = append(names, name)
		}
		rest = rest[at[1]:]
	}
	pattern.WriteString(regexp.QuoteMeta(rest))
	m := regexp.MustCompile(`^(?s:` + pattern.String() + `)$`).FindStringSubmatch(got)
	if m == nil {
		return fmt.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i, name := range names {
		if value, known := p.bound[name]; known && value != m[i+1] {
			return fmt.Errorf("<%s> is both %q and %q in\n%s", name, value, m[i+1], got)
		}
		p.bound[name] = m[i+1]
	}
	return nil
}

// volatile are the values that differ from run to run, by their names in a recorded line.
var volatile = []struct {
	name string
	is   *regexp.Regexp // its group is replaced
}{
	{"id", regexp.MustCompile(`\b(127\.0\.0\.1-[a-z2-7]{8})\b`)},
	{"exec", regexp.MustCompile(`\b(exec-[a-z2-7]{8})\b`)},
	{"hostkey", regexp.MustCompile(`(SHA256:[A-Za-z0-9+/]{43})`)},
	{"time", regexp.MustCompile(`\b(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)`)},
	{"n", regexp.MustCompile(`(?:duration_ms|created_at|ended_at|last_activity|last_in|last_out|drained_at|lock_expires_at|buffered_bytes)\\?":([0-9]+)`)},
	{"instructions", regexp.MustCompile(`"instructions":"((?:[^"\\<]|\\.)+)"`)},
	{"icon", regexp.MustCompile(`"src":"((?:[^"<]|\\.)+)"`)},
	{"n", regexp.MustCompile(`buffer_end_cursor\\?":\\?"([0-9]+)`)},
}

// record replaces the volatile parts of a server's line by names, and binds them.
func (p *play) record(line string) string {
	line = strings.ReplaceAll(line, p.bound["port"], "<port>")
	for _, v := range volatile {
		for {
			at := v.is.FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			if v.name != "n" && v.name != "time" {
				p.bound[v.name] = line[at[2]:at[3]]
			}
			line = line[:at[2]] + "<" + v.name + ">" + line[at[3]:]
		}
	}
	return line
}
