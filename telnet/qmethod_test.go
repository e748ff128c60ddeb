package telnet

import (
	"slices"
	"testing"
)

// The table of RFC 1143 section 7 holds for both sides.
func TestQMethodReceived(t *testing.T) {
	tests := []struct {
		from       qState
		yes, agree bool
		to         qState
		reply      reply
	}{
		{qNo, true, true, qYes, replyYes},
		{qNo, true, false, qNo, replyNo},
		{qNo, false, true, qNo, replyNone},
		{qYes, true, true, qYes, replyNone},
		{qYes, false, true, qNo, replyNo},
		{qWantNo, true, true, qNo, replyNone},
		{qWantNo, false, true, qNo, replyNone},
		{qWantNoOpposite, true, true, qYes, replyNone},
		{qWantNoOpposite, false, true, qWantYes, replyYes},
		{qWantYes, true, true, qYes, replyNone},
		{qWantYes, false, true, qNo, replyNone},
		{qWantYesOpposite, true, true, qWantNo, replyNo},
		{qWantYesOpposite, false, true, qNo, replyNone},
	}
	for _, tt := range tests {
		if to, r := tt.from.received(tt.yes, tt.agree); to != tt.to || r != tt.reply {
			t.Errorf(
				"state %d, yes %v, agree %v: state %d, reply %d; want %d, %d",
				tt.from,
				tt.yes,
				tt.agree,
				to,
				r,
				tt.to,
				tt.reply,
			)
		}
	}
}

func TestQMethodAsk(t *testing.T) {
	tests := []struct {
		from  qState
		on    bool
		to    qState
		reply reply
	}{
		{qNo, true, qWantYes, replyYes},
		{qNo, false, qNo, replyNone},
		{qYes, true, qYes, replyNone},
		{qYes, false, qWantNo, replyNo},
		{qWantNo, true, qWantNoOpposite, replyNone},
		{qWantNo, false, qWantNo, replyNone},
		{qWantNoOpposite, true, qWantNoOpposite, replyNone},
		{qWantNoOpposite, false, qWantNo, replyNone},
		{qWantYes, true, qWantYes, replyNone},
		{qWantYes, false, qWantYesOpposite, replyNone},
		{qWantYesOpposite, true, qWantYes, replyNone},
		{qWantYesOpposite, false, qWantYesOpposite, replyNone},
	}
	for _, tt := range tests {
		if to, r := tt.from.ask(tt.on); to != tt.to || r != tt.reply {
			t.Errorf("state %d, on %v: state %d, reply %d; want %d, %d", tt.from, tt.on, to, r, tt.to, tt.reply)
		}
	}
}

// FuzzQPair joins two ends, which request and accept options as the input says, by wires with
// any delay. They must fall silent, and then agree.
func FuzzQPair(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, true, true)
	f.Add([]byte{4, 6, 8, 10, 0, 2, 1, 3}, false, true)
	f.Fuzz(func(t *testing.T, ops []byte, agreeA, agreeB bool) {
		type end struct {
			q     qState
			agree bool
			out   []bool // sent, not yet received by the other
			sent  int
		}
		a, b := &end{agree: agreeA}, &end{agree: agreeB}
		say := func(e *end, r reply) {
			if r != replyNone {
				e.out = append(e.out, r == replyYes)
				e.sent++
			}
		}
		hear := func(e, from *end) bool {
			if len(from.out) == 0 {
				return false
			}
			yes := from.out[0]
			from.out = from.out[1:]
			var r reply
			e.q, r = e.q.received(yes, e.agree)
			say(e, r)
			return true
		}
		asked := 0
		for _, op := range ops {
			e := []*end{a, b}[op&1]
			switch op >> 1 & 3 {
			case 0, 1:
				// An end must not request an option that it would not accept.
				if on := op>>1&1 == 0; !on || e.agree {
					var r reply
					e.q, r = e.q.ask(on)
					say(e, r)
					asked++
				}
			case 2:
				hear(a, b)
			case 3:
				hear(b, a)
			}
		}
		for n := 0; hear(a, b) || hear(b, a); n++ {
			if n > 4*len(ops)+4 {
				t.Fatal("they do not fall silent")
			}
		}
		if a.q != b.q || !slices.Contains([]qState{qNo, qYes}, a.q) {
			t.Errorf("they end in states %d and %d", a.q, b.q)
		}
		if a.sent+b.sent > 4*asked {
			t.Errorf("%d commands for %d requests", a.sent+b.sent, asked)
		}
	})
}
