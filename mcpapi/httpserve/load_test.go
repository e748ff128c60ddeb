package httpserve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/mcpapi/httpserve"
)

// A call that waits must not delay 200 other calls in flight.
func TestManyCallsInFlight(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*site) agent{
		"legacy": func(s *site) agent { return s.initialize("", latest) }, "modern": func(s *site) agent {
			return s.modern(
				"")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, httpserve.Options{})
			a := begin(s)
			id := a.open()
			x, err := s.sessions.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			slow := make(chan result, 1)
			go func() {
				r, err := s.try(
					a.asking(
						"tools/call",
						calling(
							"ptyctl_session_io",
							`{"action":"read","session_id":"`+id+`","until_regex":"released","timeout_ms":30000}`,
						),
					),
				)
				if err != nil {
					t.Error(err)
				}
				slow <- a.result(r)
			}()
			for x.Info().Readers == 0 {
				runtime.Gosched()
			}
			var others sync.WaitGroup
			for range 199 {
				others.Go(func() {
					if r := a.call("ptyctl_session", `{"action":"status","session_id":"`+id+`"}`); r.ErrorCode != "" {
						t.Errorf("status = %s, want success", r.text)
					}
				})
			}
			others.Wait()
			select {
			case r := <-slow:
				t.Fatalf("read = %s before the other calls were done, want it to wait", r.text)
			default:
			}
			a.call("ptyctl_session_io", `{"action":"write","session_id":"`+id+`","data":"released"}`)
			if r := <-slow; r.TimedOut {
				t.Errorf("read = %s, want the typed text", r.text)
			}
		})
	}
}

// When the server stops, it ends its streams at once, lets short calls finish, cuts off
// long ones, and is gone in time.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{})
		a := s.initialize("", latest)
		id := a.open()
		status, stream := a.listen(t.Context())
		if status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
		modern := s.modern("")
		sub := modern.asking("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		subStatus, subStream := s.stream(t.Context(), sub)
		if subStatus != 200 {
			t.Fatalf("status of subscriptions/listen = %d, want 200", subStatus)
		}
		ends := make(chan string, 8)
		begin := time.Now()
		var wg sync.WaitGroup
		for name, body := range map[string]io.Reader{"stream": stream, "subscription": subStream} {
			wg.Go(func() {
				_, _ = io.Copy(io.Discard, body) // it does not matter how a stream ends
				ends <- fmt.Sprint(name, " ", time.Since(begin))
			})
		}
		for wait, want := range map[string]string{
			"500": `"timed_out\":true`, "30000": "ptyctl is stopping, which ends its sessions",
		} {
			// a's call passes mcp-go's handler by; the first call of a session, and those of new clients, do not.
			for who, c := range map[string]agent{
				"read": a, "first read": s.initialize("", latest), "modern read": modern,
			} {
				wg.Go(func() {
					r, err := s.try(c.asking("tools/call", calling("ptyctl_session_io",
						`{"action":"read","session_id":"`+id+`","until_regex":"never","timeout_ms":`+wait+`}`)))
					if err != nil || !strings.Contains(r.text, want) {
						t.Errorf("%s with timeout_ms %s: %v, %d %s; want its end, or that the server stops",
							who, wait, err, r.status, r.text)
					}
					ends <- fmt.Sprint(who, " ", time.Since(begin))
				})
			}
		}
		synctest.Wait()
		begin = time.Now()
		s.stop()
		took := time.Since(begin)
		wg.Wait()
		close(ends)
		got := make(map[string]bool)
		for e := range ends {
			got[e] = true
		}
		for _, want := range []string{
			"stream 0s", "subscription 0s", "read 500ms", "read 1s", "first read 500ms", "first read 1s",
			"modern read 500ms", "modern read 1s",
		} {
			if !got[want] {
				t.Errorf("there is no %q in %v", want, got)
			}
		}
		if took > 2*time.Second {
			t.Errorf("shutdown took %v, want at most both graces", took)
		}
	})
}

// A stream ends with its session.
func TestDeleteEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{})
		a := s.initialize("", latest)
		status, stream := a.listen(t.Context())
		if status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
		m := a.message
		m.method = http.MethodDelete
		if r := s.send(m); r.status != 200 {
			t.Fatalf("DELETE = %d %s, want success", r.status, r.text)
		}
		begin := time.Now()
		if _, err := io.Copy(io.Discard, stream); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("stream ended %v after its session, want at once", took)
		}
	})
}

const firstRequest = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// A client that sends slowly is disconnected after its time, and not before.
func TestSlowLoris(t *testing.T) {
	const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		first  string // sent at once; then one byte per second
		after  time.Duration
		answer string
	}{
		"headers": {"POST /mcp HTTP/1.1\r\nX-Slow: ", httpserve.HeaderTimeout, ""},
		"body":    {head + "Content-Length: 1000\r\n\r\n{", httpserve.BodyTimeout, "HTTP/1.1 408 "},
		"chunks": {
			head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n{", httpserve.BodyTimeout,
			"HTTP/1.1 408 ",
		},
		"nothing at all": {"", httpserve.HeaderTimeout, ""},
		"nothing after a reply": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Content-Length: " + strconv.Itoa(len(firstRequest)) + "\r\n\r\n" + firstRequest, httpserve.IdleTimeout, "HTTP/1.1 200 "},
		"nothing after /healthz": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 0, "HTTP/1.1 200 "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, ln := newBubbleSite(t, httpserve.Options{})
				conn, err := ln.DialContext(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				begin := time.Now()
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					_, err := io.WriteString(conn, c.first)
					for err == nil && !strings.HasPrefix(name, "nothing") {
						select {
						case <-stop:
							return
						case <-time.After(time.Second):
							_, err = io.WriteString(conn, " ")
						}
					}
				}()
				text, err := io.ReadAll(conn)
				took := time.Since(begin)
				close(stop)
				<-stopped
				if !strings.HasPrefix(string(text), c.answer) ||
					c.answer == "" && len(text) > 0 && !strings.HasPrefix(string(text), "HTTP/1.1 408 ") {
					t.Errorf("answer to a slow client = %q, %v; want a timeout", text, err)
				}
				if took < c.after || took > c.after+2*time.Second {
					t.Errorf("cut off after %v, want %v", took, c.after)
				}
			})
		})
	}
}

// A client that does not read its answer cannot hold the server: the write times out.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := newBubbleSite(t, httpserve.Options{MaxCalls: 1})
		a := s.initialize("", latest)
		id := a.open()
		big := strings.Repeat("x", 200<<10) // larger than the buffers of the connection
		for part := 0; part < len(big); part += 10 << 10 {
			a.call("ptyctl_session_io", `{"action":"write","session_id":"`+id+`","data":"`+big[part:part+10<<10]+`"}`)
		}
		synctest.Wait()
		m := a.asking(
			"tools/call",
			calling(
				"ptyctl_session_io",
				`{"action":"read","session_id":"`+id+`","cursor":"0","max_bytes":1000000,"timeout_ms":0}`,
			),
		)
		conn, err := ln.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := s.request(t.Context(), m).Write(conn); err != nil {
			t.Fatal(err)
		}
		time.Sleep(httpserve.WriteTimeout - time.Second)
		s.refused(a.ask("tools/list", ""), 503, "limits.max_in_flight") // so the answer is still being written
		time.Sleep(2 * time.Second)
		if r := a.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call after the slow reader = %d %s, want success", r.status, r.text)
		}
	})
}

// A stream may be silent for any time: pings keep it and its session.
func TestSilentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newBubbleSite(t, httpserve.Options{IdleTTL: 10 * time.Minute})
		a, idle := s.initialize("", latest), s.initialize("", latest)
		ctx, cancel := context.WithCancel(t.Context())
		status, stream := a.listen(ctx)
		if status != 200 {
			t.Fatalf("status of the stream = %d, want 200", status)
		}
		lines := bufio.NewScanner(stream)
		pings := 0
		for begin := time.Now(); time.Since(begin) < 3*time.Hour && lines.Scan(); {
			if strings.Contains(lines.Text(), `"ping"`) {
				pings++
			}
		}
		if err := lines.Err(); err != nil || pings < 300 {
			t.Errorf("pings in three hours = %d, %v; want one every 30 s", pings, err)
		}
		if r := a.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call in the session of the stream = %d %s, want success", r.status, r.text)
		}
		s.refused(idle.ask("tools/list", ""), 404, "unused")
		cancel()
	})
}

// Connections that send nothing do not accumulate, and no goroutine waits for their end.
func TestManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ln := newBubbleSite(t, httpserve.Options{MaxCalls: 8})
		kept := s.initialize("", latest) // its connection is no stranger's
		var silent []net.Conn
		for range 100 {
			conn, err := ln.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			silent = append(silent, conn)
			time.Sleep(20 * time.Millisecond)
		}
		begin := time.Now()
		s.client.CloseIdleConnections()
		s.initialize("", latest)
		if r := kept.ask("tools/list", ""); r.status != 200 {
			t.Errorf("call = %d %s, want success", r.status, r.text)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("served after %v, want at once", took)
		}
		open := 0
		for _, conn := range silent {
			if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open == 0 || open > 17 {
			t.Errorf("connections that send nothing = %d of 100, want the newest 16 or so", open)
		}
	})
}

// BenchmarkGuards compares a call through the guards with the same call to mcp-go's own
// handler, in turns.
func BenchmarkGuards(b *testing.B) {
	for name, size := range map[string]int{"trivial": 2, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			s := newSite(b, httpserve.Options{Tokens: allTokens, RateLimit: 1_000_000})
			text := strings.Repeat("x", size)
			s.mcp.Protocol().AddTool(mcp.NewTool("say"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(text), nil
			})
			bare := httptest.NewServer(server.NewStreamableHTTPServer(s.mcp.Protocol().MCPServer))
			defer bare.Close()
			a := s.modern(writeToken)
			call := func(host string) time.Duration {
				req := s.request(b.Context(), a.asking("tools/call", calling("say", "{}")))
				req.URL.Host, req.Host = host, host
				begin := time.Now()
				resp, err := s.client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				took := time.Since(begin)
				if err != nil || resp.StatusCode != http.StatusOK || n < int64(size) {
					b.Fatalf("answer = %s, %d bytes, %v; want a whole answer", resp.Status, n, err)
				}
				return took
			}
			var guarded, plain time.Duration
			for i := 0; b.Loop(); i++ { // the first of a pair is slower, so the order alternates
				if i%2 == 0 {
					guarded += call(s.host)
				}
				plain += call(bare.Listener.Addr().String())
				if i%2 == 1 {
					guarded += call(s.host)
				}
			}
			b.ReportMetric(float64(guarded)/float64(plain), "x-bare")
		})
	}
}
