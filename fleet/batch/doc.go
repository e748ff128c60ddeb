// Package batch decides which of many hosts may begin next: first the canaries, then batch by batch, and none after too
// many failures.
//
//	s := batch.New(batch.Rules{Canary: 1, Size: batch.Count{Percent: 25}, StopOnFailures: batch.Count{N: 2}}, gates)
//	for !s.Over() {
//		for i, ok := s.Next(); ok; i, ok = s.Next() {
//			// begin host i
//		}
//		// wait until one of them has ended
//		s.Done(i, failed)
//	}
//
// A [Schedule] is a state machine: it starts nothing, waits for nothing and reads no clock. Its promise is that Next
// returns each host at most once, and no host that a rule keeps back.
package batch
