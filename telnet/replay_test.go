package telnet

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/internal/bufpipe"
	"ptyctl/internal/transcript"
	"ptyctl/term"
)

var update = flag.Bool("update", false, "rewrite our side of the transcripts in testdata")

// TestReplay plays the servers of testdata/*.transcript, which were recorded from real ones
// (package transcript has the format), and checks our answers and the user's data. With
// -update it writes our present answers into the files; the server's side stays as recorded.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.transcript"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcript: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			recorded, err := transcript.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			config, err := configOf(recorded)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				played := replay(t, config, recorded)
				if *update {
					if err := os.WriteFile(file, played.Bytes(), 0o644); err != nil {
						t.Error(err)
					}
					return
				}
				for _, dir := range []byte{'>', '='} {
					if got, want := all(played, dir), all(recorded, dir); !bytes.Equal(got, want) {
						t.Errorf("all %c lines:\ngot  %q\nwant %q", dir, got, want)
					}
				}
			})
		})
	}
}

// all joins the data of one direction.
func all(t *transcript.Transcript, dir byte) []byte {
	var data []byte
	for _, e := range t.Events {
		if e.Dir == dir {
			data = append(data, e.Data...)
		}
	}
	return data
}

// configOf reads a recording's settings.
func configOf(t *transcript.Transcript) (Config, error) {
	var c Config
	for _, s := range t.Settings {
		switch {
		case s[0] == "term" && len(s) == 2:
			c.Terminal = terminals(s[1])
		case s[0] == "size" && len(s) == 3:
			var err error
			if c.Cols, err = strconv.Atoi(s[1]); err != nil {
				return c, err
			}
			if c.Rows, err = strconv.Atoi(s[2]); err != nil {
				return c, err
			}
		case s[0] == "nowindow" && len(s) == 1:
			c.NoWindow = true
		case s[0] == "binary" && len(s) == 2:
			c.Binary = BinaryPolicy(s[1])
		case s[0] == "enter" && len(s) == 2:
			c.Enter = Enter(s[1])
		case s[0] == "mode" && len(s) == 2:
			c.Mode = Mode(s[1])
		case s[0] == "env" && len(s) == 3:
			c.Env = append(c.Env, term.EnvVar{Name: s[1], Value: s[2]})
		default:
			return c, fmt.Errorf("setting %q is unknown", s)
		}
	}
	return c, nil
}

// replay plays the server, repeats the user's actions, and records again. It must run in a
// synctest bubble: after each step it waits until all goroutines are idle.
func replay(tb testing.TB, config Config, recorded *transcript.Transcript) *transcript.Transcript {
	tb.Helper()
	client, server := bufpipe.New(0)
	c, err := NewConn(client, config)
	if err != nil {
		tb.Fatal(err)
	}
	data := make(chan []byte, 1000)
	go func() {
		defer close(data)
		for p := make([]byte, 4096); ; {
			n, err := c.Read(p)
			if n > 0 {
				data <- bytes.Clone(p[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	played := &transcript.Transcript{Comments: recorded.Comments, Settings: recorded.Settings}
	add := func(dir byte, p []byte) {
		if len(p) > 0 {
			played.Events = append(played.Events, transcript.Event{Dir: dir, Data: p})
		}
	}
	collect := func() {
		synctest.Wait()
		server.SetReadDeadline(time.Now().Add(time.Millisecond))
		written, _ := io.ReadAll(server)
		add('>', written)
		for len(data) > 0 {
			add('=', <-data)
		}
	}
	for _, e := range recorded.Events {
		switch e.Dir {
		case '<':
			played.Events = append(played.Events, e)
			server.Write(e.Data)
		case '!':
			played.Events = append(played.Events, e)
			time.Sleep(time.Second) // a person is slower than any delay here
			if err := act(tb, c, server, e.Did); err != nil {
				tb.Errorf("%q: %v", e.Did, err)
			}
			time.Sleep(time.Second)
		default:
			continue
		}
		collect()
	}
	c.Close()
	return played
}

// act repeats the user's action. A key may wait for the server, so it runs in a goroutine.
func act(tb testing.TB, c *Conn, server io.Closer, did []string) error {
	tb.Helper()
	switch {
	case did[0] == "write" && len(did) == 2:
		_, err := io.WriteString(c, did[1])
		return err
	case did[0] == "resize" && len(did) == 3:
		cols, err := strconv.Atoi(did[1])
		if err != nil {
			return err
		}
		rows, err := strconv.Atoi(did[2])
		if err != nil {
			return err
		}
		return c.Resize(cols, rows)
	case did[0] == "key" && len(did) == 2:
		go c.SendKey(tb.Context(), did[1])
		return nil
	case did[0] == "eof" && len(did) == 1:
		return server.Close()
	default:
		return fmt.Errorf("the action is unknown")
	}
}
