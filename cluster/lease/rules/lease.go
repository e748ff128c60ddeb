package rules

// Error codes of JetStream that refuse a write because of the key's revision. Any other error leaves open whether the
// write was done.
const (
	WrongRevision = 10071 // another write has come first
	WriteUnderWay = 10164 // another write has not ended, or has just ended
)

// Refused reports whether a server has refused a write because of the key's revision.
func Refused(code int) bool { return code == WrongRevision || code == WriteUnderWay }

// A Lease is its node's view of a key that the node wants or has. M is the type of the moments at which it sends.
type Lease[M any] struct {
	Token    uint64 // the revision of the write that has won the device; 0: none has yet
	Revision uint64 // of the last write of the key that is known here
	Number   uint64 // of the last renewal
	Reading  bool   // the next attempt waits for a read of the key
	Heir     bool   // the key had expired: its former owner may count on the device until Times.Patience has passed

	suspect bool         // the read decides whether the lease is lost
	sent    map[uint64]M // the renewals without an answer
}

// A Key is the state of a key, as the leader of the servers reports it.
type Key struct {
	Held     bool
	Mine     bool   // the last write is by the lease that asks
	Expired  bool   // the last write marks the key as expired, and not as given back
	Revision uint64 // of the last write, which may be a marker that it was deleted or has expired; 0: the key has no write
	Token    uint64 // that the value names
}

// Won takes the confirmation of a write that wants the device.
func (l *Lease[M]) Won(revision uint64) {
	l.Revision = revision
	if l.Token == 0 {
		l.Token = revision
	}
}

// Claim takes a read of the key after such a write was refused or its answer was lost. It reports whether another has
// the device. If not, the write is made again, with the revision that was read: so a lease begins at a known time.
func (l *Lease[M]) Claim(k Key) (other bool) {
	switch {
	case !k.Held:
		l.Revision, l.Token, l.Heir = k.Revision, 0, k.Expired
	case k.Mine: // the answer was lost
		l.Revision, l.Token = k.Revision, k.Token
	default:
		return true
	}
	return false
}

// mostSent is how many renewals without an answer are remembered. Older ones are of no use.
const mostSent = 16

// Attempt begins a renewal, and counts it in Number. While the lease waits for a read it begins none, and reports true:
// the caller repeats the read.
func (l *Lease[M]) Attempt(now M) (read bool) {
	if l.Reading {
		return true
	}
	if l.sent == nil {
		l.sent = make(map[uint64]M)
	}
	l.Number++
	if l.sent[l.Number] = now; len(l.sent) > mostSent {
		delete(l.sent, l.Number-mostSent)
	}
	return false
}

// Confirmed takes the confirmation of a renewal. The lease lasts longer, from the time at which that renewal was sent. It
// reports false for one that is too old to count.
func (l *Lease[M]) Confirmed(number, revision uint64) (sent M, ok bool) {
	if sent, ok = l.sent[number]; !ok {
		return sent, false
	}
	for n := range l.sent {
		if n <= number {
			delete(l.sent, n)
		}
	}
	l.Revision = max(l.Revision, revision)
	return sent, true
}

// Refuse takes the refusal of a renewal. The key has another revision: either the answer to an earlier renewal was
// lost, or the lease is lost. The leader has to be asked. WriteUnderWay says less: another write of the key is under
// way, which may be an earlier renewal.
func (l *Lease[M]) Refuse(code int) {
	l.Reading, l.suspect = true, l.suspect || code == WrongRevision
}

// Read takes the answer of the leader to a lease that is Reading, and reports whether the lease is lost.
func (l *Lease[M]) Read(k Key) (lost bool) {
	switch {
	case k.Held && k.Mine:
		l.Revision = max(l.Revision, k.Revision)
	case l.suspect:
		return true
	}
	l.Reading, l.suspect = false, false
	return false
}
