package httpserve_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ptyctl/mcpapi/httpserve"
)

// Those who have no token cannot keep out a client that has one, whatever they do with their connections, and although
// they come from the same address. How long the client waits is logged.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	const attackers = 8
	for name, attack := range map[string]struct {
		first string // sent at once
		hold  bool   // keeps its connections, as many as the server lets it have
	}{
		"silent":      {"", true},
		"slow header": {"POST /mcp HTTP/1.1\r\nX: ", true},
		"healthz":     {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		"wrong token": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 999999\r\n\r\n", true},
		"initialize": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
			strconv.Itoa(len(firstRequest)) + "\r\n\r\n" + firstRequest, true},
		"initialize, wrong token": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n" +
			"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(firstRequest)) + "\r\n\r\n" + firstRequest, true},
		"page": {"GET /watch/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		"page, wrong token": {"POST /watch/api/login HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n" +
			"Authorization: Bearer x\r\nContent-Length: 999999\r\n\r\n", true},
		"come and go": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := servePage(t, nil, httpserve.Options{Tokens: allTokens})
			var running sync.WaitGroup
			var tried atomic.Int64
			stop := make(chan struct{})
			for range attackers {
				running.Go(func() {
					var held []net.Conn
					defer func() {
						for _, conn := range held {
							conn.Close()
						}
					}()
					for {
						select {
						case <-stop:
							return
						default:
						}
						conn, err := net.Dial("tcp", s.host)
						if err != nil {
							continue
						}
						tried.Add(1)
						_, _ = io.WriteString(conn, attack.first) // the server may have closed it already
						if held = append(held, conn); !attack.hold || len(held) > 400 {
							held[0].Close()
							held = held[1:]
						}
					}
				})
			}
			var waits []time.Duration
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second} // or a hang
			for end := time.Now().Add(lockoutTime); time.Now().Before(end) || len(waits) < 3; {
				s.client = client // each request on a connection of its own
				begin := time.Now()
				r, err := s.try(s.modern(writeToken).asking("tools/list", ""))
				// The server waits 200 ms for a request, which a client on a busy machine may not have sent by then.
				for tries := 1; err != nil && tries < lockoutTries; tries++ {
					r, err = s.try(s.modern(writeToken).asking("tools/list", ""))
				}
				if err != nil || r.status != http.StatusOK {
					t.Fatalf("request with a token, after %d others = %v, %d %s; want success", len(waits), err, r.status, r.text)
				}
				waits = append(waits, time.Since(begin))
			}
			close(stop)
			running.Wait()
			slices.Sort(waits)
			t.Log(strings.TrimSpace(fmt.Sprintf("%d requests among %d connections of strangers: p50 %v, p99 %v, longest %v",
				len(waits), tried.Load(), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])))
		})
	}
}
