package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// A relayed conversation of a test: the client's ends, and the daemon's.
type relayed struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	daemon net.Conn
	ended  chan error
	stop   context.CancelFunc // as a signal does
}

const maxLineOfTest = 2_000_000

func startRelay(t *testing.T, p Presents) *relayed {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	shim, daemon := connected(t)
	ctx, stop := context.WithCancel(context.Background())
	r := &relayed{in: inWrite, out: bufio.NewReader(outRead), daemon: daemon, ended: make(chan error, 1), stop: stop}
	go func() {
		r.ended <- Relay{Conn: shim, In: inRead, Out: outWrite, MaxLine: maxLineOfTest, Presents: p}.Run(ctx)
		_ = outWrite.Close()
	}()
	t.Cleanup(func() {
		stop()
		_ = inWrite.Close()
		_ = daemon.Close()
		_ = outRead.Close()
	})
	return r
}

// connected returns both ends of a connection. Each direction can end alone.
func connected(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func (r *relayed) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (r *relayed) line(t *testing.T) string {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the client reads %q, %v; want a line", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// Lines of any length pass unchanged, in both directions, and the end of the input passes too.
func TestRelay(t *testing.T) {
	r := startRelay(t, Presents{})
	far := bufio.NewReader(r.daemon)
	for _, size := range []int{0, 10, 64 << 10, 1 << 20} {
		there := `{"id":1,"method":"tools/call","params":"` + strings.Repeat("p", size) + `"}`
		back := plainStart + `1,"result":"` + strings.Repeat("r", size) + `"}`
		go func() { _, _ = io.WriteString(r.in, there+"\n") }() // the sizes of the buffers are not the test's
		if got, err := far.ReadString('\n'); err != nil || got != there+"\n" {
			t.Fatalf("the daemon reads %d bytes, %v; want the line of %d", len(got), err, len(there)+1)
		}
		go func() { _, _ = io.WriteString(r.daemon, back+"\n") }()
		if got := r.line(t); got != back {
			t.Fatalf("the client reads %d bytes, want the line of %d", len(got), len(back))
		}
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(far); err != nil || len(rest) > 0 {
		t.Errorf("the daemon reads %q, %v, want the end", rest, err)
	}
	_ = r.daemon.Close() // as it does when it has answered all
	if err := <-r.ended; err != nil {
		t.Errorf("Run = %v after the end of the input, want nil", err)
	}
}

// A line that is too long is answered with the id of its request, is not kept, and does not reach the daemon.
func TestRelayLongLine(t *testing.T) {
	r := startRelay(t, Presents{})
	far := bufio.NewReader(r.daemon)
	fits := `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("p", maxLineOfTest-49) + `"}`
	if len(fits) != maxLineOfTest {
		t.Fatalf("the line has %d bytes, want %d", len(fits), maxLineOfTest)
	}
	for _, size := range []int{1, 64 << 10, 1 << 20} {
		r.send(t, strings.Replace(fits, "pp", strings.Repeat("p", 2+size), 1))
		if got := r.line(t); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "at most 2000000 bytes (limits.max_message_bytes)") {
			t.Errorf("a line with %d bytes too many is answered with %q, want an error for request 1 that names the limit", size, got)
		}
		go func() { _, _ = io.WriteString(r.in, fits+"\n") }()
		if got, err := far.ReadString('\n'); err != nil || got != fits+"\n" {
			t.Fatalf("the daemon reads %d bytes, %v; want the line that fits", len(got), err)
		}
	}
	go func() { _, _ = io.WriteString(r.in, `{"no":"id`+strings.Repeat("p", maxLineOfTest)); _ = r.in.Close() }()
	if got := r.line(t); !strings.Contains(got, `"id":null`) {
		t.Errorf("a long line without an id and an end is answered with %q, want an error", got)
	}
}

// When the daemon is lost, open and later requests are answered; a line that was cut off is not passed
// on.
func TestRelayLost(t *testing.T) {
	for _, results := range []string{"compact", "full", "text"} {
		t.Run(results, func(t *testing.T) {
			r := startRelay(t, Presents{Results: results})
			far := bufio.NewReader(r.daemon)
			r.send(t, `{"jsonrpc":"2.0","id":"open","method":"tools/call","params":{}}`)
			if _, err := far.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(r.daemon, plainStart+`"open","result":{"cut`); err != nil {
				t.Fatal(err)
			}
			_ = r.daemon.Close()
			check := func(id string, isError bool) {
				t.Helper()
				line := r.line(t)
				var a struct {
					ID     string
					Error  *struct{ Message string }
					Result *struct {
						IsError bool
						Content []struct{ Text string }
					}
				}
				if err := json.Unmarshal([]byte(line), &a); err != nil || a.ID != id {
					t.Fatalf("the client reads %q, %v; want the answer to %q", line, err, id)
				}
				text := ""
				switch {
				case isError && a.Error != nil:
					text = a.Error.Message
				case !isError && a.Result != nil && a.Result.IsError:
					text = a.Result.Content[0].Text
				}
				if !strings.Contains(text, "all its sessions with it") {
					t.Errorf("the answer to %q is %q, want one that says the sessions are gone", id, line)
				}
			}
			check("open", false)
			r.send(t, `{"jsonrpc":"2.0","id":"later","method":"tools/call","params":{}}`)
			check("later", false)
			r.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`)
			r.send(t, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
			check("list", true)
			_ = r.in.Close()
			if err := <-r.ended; !errors.Is(err, ErrLost) {
				t.Errorf("Run = %v, want ErrLost", err)
			}
		})
	}
}

// A shim that is stopped does not say that the daemon has ended, which goes on.
func TestRelayStopped(t *testing.T) {
	for range 20 { // Run returns at once: the output before that differs
		r := startRelay(t, Presents{})
		r.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
		if _, err := bufio.NewReader(r.daemon).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		r.stop()
		if line, err := r.out.ReadString('\n'); !errors.Is(err, io.EOF) || line != "" {
			t.Fatalf("the client reads %q, %v, want the end of the output alone", line, err)
		}
		if err := <-r.ended; err != nil {
			t.Errorf("Run = %v after the end of its context, want nil", err)
		}
	}
}
