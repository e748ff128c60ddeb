package sshx_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/sshserver"
	"ptyctl/sshx/internal/sshtest"
	"ptyctl/term"
)

// TestBreak checks that a break is sent with its length, and that a refusal
// suggests an alternative.
func TestBreak(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
			var lengths []time.Duration
			l.Server(
				sshtest.Addr1,
				sshserver.Config{
					Faults: sshserver.Faults{RefuseBreak: refuse},
					Handler: func(ctx context.Context, r *sshserver.Request) sshserver.Exit {
						for {
							select {
							case d := <-r.Breaks:
								lengths = append(lengths, d)
							case <-ctx.Done():
								return sshserver.Exit{}
							}
						}
					},
				},
			)
			sh := l.Open(sshtest.To(sshtest.Host1, ""))
			err := sh.SendKey(t.Context(), term.KeyBreak)
			synctest.Wait()
			switch {
			case refuse && (!errors.Is(err, term.Unsupported) || !strings.Contains(err.Error(), "break") || lengths != nil):
				t.Errorf("refused: %v, lengths %v", err, lengths)
			case !refuse && (err != nil || len(lengths) != 1 || lengths[0] != 500*time.Millisecond):
				t.Errorf("%v, lengths %v", err, lengths)
			}
		})
	}
}

// TestOtherProtocolsKeys checks that keys missing in SSH are refused by name,
// with an alternative.
func TestOtherProtocolsKeys(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		l.Server(sshtest.Addr1, sshserver.Config{})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		instead := map[string]string{
			term.KeyInterruptProcess: "ctrl_c",
			term.KeyAbortOutput:      "ctrl_c",
			term.KeyAreYouThere:      "status",
			term.KeyEndOfFile:        "ctrl_d",
		}
		for _, key := range term.ProtocolKeys() {
			if key == term.KeyBreak {
				continue
			}
			err := sh.SendKey(t.Context(), key)
			if !errors.Is(err, term.Unsupported) || !strings.Contains(err.Error(), key) || instead[key] == "" ||
				!strings.Contains(err.Error(), instead[key]) {
				t.Errorf("%s: %v", key, err)
			}
		}
		if err := sh.SendKey(t.Context(), "any"); !errors.Is(err, term.InvalidArgument) {
			t.Errorf("any: %v", err)
		}
	})
}

// TestBreakUnanswered checks the time limit with a silent server.
func TestBreakUnanswered(t *testing.T) {
	sshtest.InBubble(t, func(t *testing.T, l *sshtest.Lab) {
		srv := l.Server(sshtest.Addr1, sshserver.Config{})
		sh := l.Open(sshtest.To(sshtest.Host1, ""))
		srv.FreezeConnections()
		start := time.Now()
		if err := sh.SendKey(t.Context(), term.KeyBreak); !errors.Is(err, term.ExecTimeout) ||
			time.Since(start) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		srv.DropConnections()
	})
}
