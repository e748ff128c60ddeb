package httpserve

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A fakePage remembers the names that Withdraw gets.
type fakePage struct {
	Page
	withdrawn []string
}

func (p *fakePage) Withdraw(name string) { p.withdrawn = append(p.withdrawn, name) }

// A token is admitted by its SHA-256 until it expires. Its requests and the visits of people end then.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := new(fakePage)
		h := &Handler{o: Options{Page: page}, sessions: newMCPSessions(1)}
		soon := Token{Name: "ann", Digest: sha256.Sum256([]byte("value of ann")), Person: true, Expires: time.Now().Add(time.Hour)}
		keys := newKeyring([]Token{soon, {Name: "ci", Value: "value of ci"}}, 0)
		h.tokens.Store(&keys)
		h.endVisits(&keys)
		admitted := func(value string) *key {
			req := &http.Request{Header: http.Header{"Authorization": {"Bearer " + value}}}
			k, _ := h.tokens.Load().of(req)
			return k
		}
		ann := admitted("value of ann")
		if ann == nil || ann.Name != "ann" || admitted("value of ci") == nil || admitted("value of bob") != nil {
			t.Fatalf("admitted are %+v, %+v and %+v, want ann, ci and none", ann, admitted("value of ci"), admitted("value of bob"))
		}
		// Setting the same tokens again ends no request.
		if n := h.SetTokens([]Token{soon, {Name: "ci", Value: "value of ci"}}); n != 0 || ann.gone.Err() != nil {
			t.Errorf("%d tokens were withdrawn, want none", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if admitted("value of ann") != nil || admitted("value of ci") == nil {
			t.Error("after an hour ann is still admitted, or ci is not")
		}
		if !errors.Is(context.Cause(ann.gone), errExpired) || len(page.withdrawn) != 1 || page.withdrawn[0] != "ann" {
			t.Errorf("what ann did ends with %v, and ended visits are those of %v", context.Cause(ann.gone), page.withdrawn)
		}
		// A person with a new token is not sent away when the old one expires.
		next := soon
		next.Expires = time.Now().Add(time.Hour)
		h.SetTokens([]Token{next})
		h.SetTokens([]Token{{Name: "ann", Value: "another value", Person: true}})
		before := len(page.withdrawn)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(page.withdrawn) != before {
			t.Errorf("visits of the new token were ended: %v", page.withdrawn)
		}
	})
}
