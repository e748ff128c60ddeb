package route

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// refusals writes to the log which calls were refused. Any node can send as many of them as it likes, with headers as long
// as it likes, so the log gets one line in refusalEvery, which says how many were left out before it.
type refusals struct {
	mu     sync.Mutex // guards the following
	logged time.Time
	more   int // since then
}

// refusalEvery is the least time between two lines about calls that were refused.
const refusalEvery = time.Second

// log notes a call that was refused then. entry is what the call says of its node.
func (r *refusals) log(log *slog.Logger, now time.Time, entry string, why error) {
	r.mu.Lock()
	if !r.logged.IsZero() && now.Sub(r.logged) < refusalEvery {
		r.more++
		r.mu.Unlock()
		return
	}
	more := r.more
	r.logged, r.more = now, 0
	r.mu.Unlock()
	attrs := []any{"node", fmt.Sprintf("%.40s", entry), "why", fmt.Sprintf("%.300s", why.Error())}
	if more > 0 {
		attrs = append(attrs, "not_logged_before", more)
	}
	log.Warn("refused a call of another node", attrs...)
}
