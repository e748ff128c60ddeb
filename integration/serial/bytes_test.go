package serial

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"

	"ptyctl/internal/lab"
)

// TestBytes sends a mebibyte of all bytes over a line. The far side returns it.
func TestBytes(t *testing.T) {
	t.Parallel()
	l := lab.StartSerialLine(t, "exec:/bin/cat")
	c := lab.NewHome(t, l.Allow()...).Connect(t)
	// Some of the bytes are queries of a terminal; the answers to them would go back as well.
	id := open(t, c, l.Path, `,"baud":4000000},"pty":{"answer":"never"`).SessionID
	data := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(7, 39))
	for i := range data {
		data[i] = byte(r.IntN(256))
	}
	copy(data, "\x00\x03\x04\x11\x13\x1a\x1c\r\n\x7f\xff\xff")
	for part := range slices.Chunk(data, 128<<10) {
		c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"encoding":"base64"}`,
			id, base64.StdEncoding.EncodeToString(part))
	}
	var got []byte
	for cursor := "0"; len(got) < len(data); {
		r := c.Call(t, lab.ToolIO, `{"action":"read","session_id":%s,"cursor":%s,"format":"raw","max_bytes":1048576,"timeout_ms":20000}`, id, cursor)
		if r.NextCursor == cursor {
			t.Fatalf("after %d bytes nothing comes: %s", len(got), lab.Tail(r.Text, 500))
		}
		text, err := []byte(r.Chunk), error(nil)
		if r.Encoding == "base64" {
			text, err = base64.StdEncoding.DecodeString(r.Chunk)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, cursor = append(got, text...), r.NextCursor
	}
	if !bytes.Equal(got, data) {
		at := 0
		for got[at] == data[at] {
			at++
		}
		t.Errorf("%d bytes came back; from byte %d on they are %q, want %q", len(got), at, got[at:min(at+60, len(got))], data[at:at+60])
	}
	c.Close(t, id)
}
