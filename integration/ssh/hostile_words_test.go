package ssh

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// canary is in every text of a hostile server, once.
const canary = "CANARY"

// hostile is a text that imitates, hides and floods, of about size bytes.
func hostile(size int) string {
	const tricks = "\x1b[31mred\x1b]0;title\x07\x1bP1\x1b\\\x9b2J\u202egnp.exe\u2066\u200b\ufeff\x00\x08\x7f\xff\n\rnew line"
	return canary + strings.Repeat(tricks, 1+size/len(tricks))
}

// rawBytes matches bytes that must not be in output: control characters, and characters without a visible form. rawJSON
// matches their forms in JSON, too.
var (
	rawBytes = regexp.MustCompile(
		"[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]",
	)
	rawJSON = regexp.MustCompile(
		rawBytes.String() + `|(?:^|[^\\])(?:\\\\)*\\u(?:00[01][0-9a-f]|007f|20[0-6]|feff)`,
	)
)

// checkWords checks that a text of ptyctl shows the server's words once at most, harmless and bounded.
func checkWords(t *testing.T, where, text string, times, limit int) {
	t.Helper()
	raw := rawJSON
	if !strings.HasPrefix(text, "{") {
		raw = rawBytes
	}
	if at := raw.FindStringIndex(text); at != nil {
		t.Errorf("%s has %q in it, at %q", where, text[at[0]:at[1]], text[max(0, at[0]-80):min(len(text), at[1]+20)])
	}
	if n := strings.Count(text, canary); n > times || n == 0 && times > 0 {
		t.Errorf("%s shows the server's words %d times, want %d: %s", where, n, times, lab.Tail(text, 6<<10))
	}
	if len(text) > limit {
		t.Errorf("%s has %d bytes, want at most %d", where, len(text), limit)
	}
}

// A wordsTest is one text of a hostile server.
type wordsTest struct {
	config sshserver.Config
	code   string // of open; empty: it opens
	open   int    // how often the result of open shows the words
	status int
	then   func(t *testing.T, c *lab.Client, id string)
}

// doctor returns how often ptyctl doctor shows the words: a reason to fail, and a version.
func (w wordsTest) doctor() int {
	if w.code != "" || w.config.Version != "" {
		return 1
	}
	return 0
}

// TestHostileWords lets a server say the worst in each of its texts, and looks at whole results, the log and the audit
// log.
func TestHostileWords(t *testing.T) {
	const megabyte = 1 << 20
	ask := func(name, instruction, question string) func(string, ssh.KeyboardInteractiveChallenge) error {
		return func(_ string, challenge ssh.KeyboardInteractiveChallenge) error {
			_, err := challenge(name, instruction, []string{question}, []bool{true})
			return err
		}
	}
	const large = 200 << 10 // x/crypto/ssh allows packets of 256 KiB
	for name, tt := range map[string]wordsTest{
		"banner":       {sshserver.Config{NoAuth: true, Banner: hostile(large)}, "", 1, 1, nil},
		"version":      {sshserver.Config{NoAuth: true, Version: "SSH-2.0-" + canary + "\x7f\u009b2J\u202egnp.exe\u2066\u200b\ufeff\xff"}, "", 0, 1, nil},
		"before it":    {sshserver.Config{NoAuth: true, Faults: sshserver.Faults{PreBanner: []string{hostile(megabyte)}, CloseAfterAccept: true}}, "CONNECT_FAILED", 1, 0, nil},
		"web server":   {sshserver.Config{NoAuth: true, Faults: sshserver.Faults{PreBanner: []string{"HTTP/1.1 400 " + strings.ReplaceAll(hostile(megabyte), "\n", "")}, CloseAfterAccept: true}}, "CONNECT_FAILED", 1, 0, nil},
		"SSH 1":        {sshserver.Config{NoAuth: true, Faults: sshserver.Faults{PreBanner: []string{"SSH-1.5-" + strings.ReplaceAll(hostile(megabyte), "\n", "")}, SilentAfterAccept: true}}, "CONNECT_FAILED", 1, 0, nil},
		"disconnect":   {sshserver.Config{NoAuth: true, Faults: sshserver.Faults{Disconnect: hostile(30 << 10)}}, "CONNECT_FAILED", 1, 0, nil},
		"no channel":   {sshserver.Config{NoAuth: true, Faults: sshserver.Faults{RefuseSessions: hostile(large)}}, "LIMIT_EXCEEDED", 1, 0, nil},
		"name":         {sshserver.Config{KeyboardInteractive: ask(hostile(large), "", "? ")}, "", 1, 1, answerWords},
		"instruction":  {sshserver.Config{KeyboardInteractive: ask("", hostile(large), "? ")}, "", 1, 1, answerWords},
		"question":     {sshserver.Config{KeyboardInteractive: ask("", "", hostile(large))}, "", 1, 1, answerWords},
		"exit signal":  {sshserver.Config{NoAuth: true, Handler: dieWith(hostile(large))}, "", 0, 0, signalWords},
		"sftp refusal": {sshserver.Config{NoAuth: true, Handler: dieWith(""), Subsystems: map[string]string{"sftp": ""}}, "", 0, 0, fileWords},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := sshserver.Listen(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { srv.Close() })
			h := lab.NewHome(t, `host_key_policy = "accept_new"`, "[fs]", "remote = true")
			c := h.Connect(t)
			_, port, _ := net.SplitHostPort(srv.Addr())
			n, _ := strconv.Atoi(port)
			r, err := c.Try(t.Context(), lab.ToolSession,
				`{"action":"open","protocol":"ssh","host":"127.0.0.1","port":%s,"username":"u"}`, n)
			if err != nil {
				t.Fatal(err)
			}
			if r.ErrorCode != tt.code {
				t.Fatalf("open = %s, want the code %q", r.Text, tt.code)
			}
			const limit = 24 << 10
			checkWords(t, "open", r.Text, tt.open, limit)
			if r.SessionID != "" {
				status := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, r.SessionID)
				checkWords(t, "status", status.Text, tt.status, limit)
			}
			if tt.then != nil {
				tt.then(t, c, r.SessionID)
			}
			list := c.Call(t, lab.ToolSession, `{"action":"list"}`)
			checkWords(t, "list", list.Text, strings.Count(list.Text, canary), limit)
			doctor, _ := h.Command(
				"doctor", "--config", h.Config, "--batch", "--timeout", "5s", "--port", port, "u@127.0.0.1",
			).CombinedOutput() // fails where open does
			checkWords(t, "doctor", string(doctor), tt.doctor(), limit)
			c.Stdin.Close()
			<-c.Ended
			checkWords(t, "the log", strings.ReplaceAll(c.EngineLog(), "\n", " "), strings.Count(c.EngineLog(), canary),
				64<<10)
			audit := string(lab.ReadFile(t, c.Audit))
			checkWords(t, "the audit log", strings.ReplaceAll(audit, "\n", " "), strings.Count(audit, canary), 64<<10)
		})
	}
}

// answerWords reads the question of a login, and answers it.
func answerWords(t *testing.T, c *lab.Client, id string) {
	r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":"0","timeout_ms":0}`, id)
	checkWords(t, "read of the question", r.Text, 1, 24<<10)
	r = c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s}`, id, "answer-1138\n")
	checkWords(t, "write of the answer", r.Text, 0, 24<<10)
}

// dieWith returns a Handler. Its commands end by a signal of that name, and its sftp refuses everything in many words.
func dieWith(signal string) sshserver.Handler {
	return func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
		switch r.Command {
		case "":
			<-ctx.Done()
		case "sftp":
			_ = refuseFiles(r.Stdin, r.Stdout)
		}
		return sshserver.Exit{Signal: ssh.Signal(signal)}
	}
}

func signalWords(t *testing.T, c *lab.Client, id string) {
	r := c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"x","lane":"channel"}`, id)
	checkWords(t, "exec", r.Text, 1, 4<<10)
}

func fileWords(t *testing.T, c *lab.Client, id string) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := c.Try(ctx, "ptyctl_fs", `{"action":"stat","session_id":%s,"path":"/x"}`, id)
	if err != nil {
		t.Fatal(err)
	}
	checkWords(t, "stat", r.Text, 1, 4<<10)
}

// refuseFiles is an SFTP server (version 3) that answers every request with a failure and hostile words.
func refuseFiles(in io.Reader, out io.Writer) error {
	for {
		var size uint32
		if err := binary.Read(in, binary.BigEndian, &size); err != nil {
			return err
		}
		if size < 5 || size > 1<<20 {
			return errors.New("no SFTP packet")
		}
		packet := make([]byte, size)
		if _, err := io.ReadFull(in, packet); err != nil {
			return err
		}
		answer := []byte{2, 0, 0, 0, 3} // SSH_FXP_VERSION
		if packet[0] != 1 {
			words := hostile(100 << 10)
			answer = append([]byte{101}, packet[1:5]...) // SSH_FXP_STATUS
			answer = binary.BigEndian.AppendUint32(answer, 4)
			answer = binary.BigEndian.AppendUint32(answer, uint32(len(words)))
			answer = append(answer, words...)
			answer = binary.BigEndian.AppendUint32(answer, 0)
		}
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(answer)))
		if _, err := out.Write(append(frame, answer...)); err != nil {
			return err
		}
	}
}
