package lab

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// StreamBlock returns one block of a stream that no other stream has: lowercase hexadecimal digits, and a mark that
// names the stream and the block at both ends, by which a byte that went astray tells where it came from.
func StreamBlock(stream string, block, size int) string {
	name := fmt.Sprintf("<%s-%d>", stream, block)
	seed := uint64(block)
	for _, c := range []byte(stream) {
		seed = seed*257 + uint64(c)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, size/2)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	return name + hex.EncodeToString(text) + name
}

// Difference says where two texts part, in few words. They are "" when they are equal.
func Difference(got, want string) string {
	if got == want {
		return ""
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-20):min(len(s), i+60)] }
	return fmt.Sprintf(
		"%d bytes and not %d; at byte %d there is %q and not %q",
		len(got),
		len(want),
		i,
		part(got),
		part(want),
	)
}

// Take reads from a cursor until there are n bytes, or more have come with them, and returns the cursor after them.
func (c *Client) Take(ctx context.Context, id, cursor string, n int) (got, next string, err error) {
	for len(got) < n {
		r, err := c.Try(
			ctx,
			ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"timeout_ms":50000,"max_bytes":1000000,"format":"raw"}`,
			id,
			cursor,
		)
		if err == nil && r.Chunk == "" {
			err = fmt.Errorf("%d bytes and not %d: %s", len(got), n, Tail(r.Text, 512))
		}
		if err != nil {
			return got, cursor, err
		}
		got, cursor = got+r.Chunk, r.NextCursor
	}
	return got, cursor, nil
}

// ForEach does something for the sessions from 0 to n-1, some at a time, and ends the test if it fails for any.
func ForEach(t *testing.T, n, atATime int, do func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, atATime)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := do(i); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
