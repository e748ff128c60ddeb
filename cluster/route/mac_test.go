package route

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// plainToken is token, and plainPiece is pieceToken, without memory that is used again.
func plainToken(key []byte, id, entry, owner, expires string, body []byte) []byte {
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "ptyctl call 1\x00%s\x00%s\x00%s\x00%s\x00%s", id, entry, owner, expires, sum[:])
	return mac.Sum(nil)
}

func plainPiece(key []byte, id, entry, owner, expires string) []byte {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "ptyctl piece 1\x00%s\x00%s\x00%s\x00%s", id, entry, owner, expires)
	return mac.Sum(nil)
}

// TestTokenIsHMAC: tokens that are made at the same time, with the same key and with others, equal those of
// crypto/hmac.
func TestTokenIsHMAC(t *testing.T) {
	var making sync.WaitGroup
	defer making.Wait()
	for range 4 {
		key := make([]byte, sha256.Size)
		if _, err := rand.Read(key); err != nil {
			t.Fatal(err)
		}
		k := newPairKey(key)
		for i := range 4 {
			making.Go(func() {
				for n := range 100 {
					id, entry, owner, expires := newID(), strings.Repeat("e", n), fmt.Sprint("o", i), fmt.Sprint(n)
					body := bytes.Repeat([]byte("b"), n*i)
					if got, want := token(k, id, entry, owner, expires, body), plainToken(key, id, entry, owner, expires, body); !bytes.Equal(got, want) {
						t.Errorf("the token of call %d is %x, want %x", n, got, want)
					}
					if got, want := pieceToken(k, id, entry, owner, expires), plainPiece(key, id, entry, owner, expires); !bytes.Equal(got, want) {
						t.Errorf("the token of piece %d is %x, want %x", n, got, want)
					}
				}
			})
		}
	}
}

// BenchmarkToken makes the token of a small call, beside crypto/hmac.
func BenchmarkToken(b *testing.B) {
	key, body := make([]byte, sha256.Size), make([]byte, 400)
	k, id := newPairKey(key), newID()
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			token(k, id, "ams2", "fra1", "1800000000000", body)
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			plainToken(key, id, "ams2", "fra1", "1800000000000", body)
		}
	})
}
