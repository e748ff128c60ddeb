package secret

import (
	"fmt"
	"sync"
	"time"
)

// Uses are those of the last hour. The zero value has none. Any number of stores may share it.
type Uses struct {
	mu sync.Mutex             // guards the following
	at map[string][]time.Time // by the name of the secret
}

// count refuses a use if there were too many. Otherwise it counts the use if that is made.
func (u *Uses) count(d *Definition, made bool) error {
	if d.PerHour == 0 {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	uses := u.at[d.Name]
	for len(uses) > 0 && now.Sub(uses[0]) >= time.Hour {
		uses = uses[1:]
	}
	refused := len(uses) >= d.PerHour
	if !refused && made {
		uses = append(uses, now)
	}
	if u.at == nil {
		u.at = make(map[string][]time.Time)
	}
	u.at[d.Name] = uses
	if refused {
		return d.refuse("per_hour", fmt.Sprintf("it was used %d times within an hour; the next use is possible in %v",
			len(uses), uses[0].Add(time.Hour).Sub(now).Round(time.Second)))
	}
	return nil
}
