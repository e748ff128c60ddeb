package fleet

import (
	"cmp"

	"ptyctl/fleet/saved"
)

// Answers returns the answers of the hosts so far, to be saved or compared. A host that has not ended has no exit code.
func (r *Run) Answers() *saved.Answers {
	a := &saved.Answers{Command: r.Command(), Began: r.began}
	for _, label := range r.Labels() {
		h := r.find(label)
		res := r.Result(label)
		one := saved.Answer{Label: label, Names: h.Names}
		if res.State == Exited {
			one.Exit = &res.Exit.Code
			one.Stdout, one.Stderr = h.stdout.output(), h.stderr.output()
		} else {
			one.Code = cmp.Or(res.Code, string(res.State))
		}
		a.Hosts = append(a.Hosts, one)
	}
	return a
}

// output returns all of a stream that has ended.
func (s *Stream) output() saved.Output {
	sum := s.SHA256()
	s.mu.Lock()
	defer s.mu.Unlock()
	return saved.Output{Head: s.head, Tail: s.tail, Total: s.total, Sum: sum}
}
