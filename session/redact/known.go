package redact

// Known are secrets to look for in text that is read later than the output came, for example on a screen.
// The zero value is ready, and knows none. Only one goroutine may use it at a time.
//
// It knows those only that are no common words: a shorter one may be a word that the far side shows anyway.
type Known struct {
	f filter
}

// Add remembers the lines of data, which is about to be written. If there is no room, it returns false.
func (k *Known) Add(data []byte) bool {
	var add []*secret
	size := 0
	for _, s := range secretLines(data, nil) {
		if len(s.text) < commonWord || k.has(s) {
			clear(s.text)
			continue
		}
		add = append(add, s)
		size += len(s.text)
	}
	if k.f.size+size > MaxBytes || len(k.f.secrets)+len(add) > MaxLines {
		return false
	}
	if len(add) > 0 {
		k.f.add(add)
	}
	return true
}

func (k *Known) has(s *secret) bool {
	m := echoMatch{p: s.text}
	if k.f.begin != nil {
		m = k.f.match(s.text)
	}
	return m.n == len(s.text) && len(m.of.text) == len(s.text)
}

// Find returns where text shows secrets, as pairs of a beginning and an end. As in an echo, there may be blanks between
// the characters.
func (k *Known) Find(text []byte) (parts [][2]int) {
	if k.f.begin == nil {
		return nil
	}
	for at := 0; at < len(text); at++ {
		if len(k.f.begin[text[at]]) == 0 {
			continue
		}
		if n := k.f.match(text[at:]).n; n > 0 {
			parts = append(parts, [2]int{at, at + n})
		}
	}
	return parts
}

// Any reports whether any secret is known.
func (k *Known) Any() bool { return k.f.begin != nil }

// Forget wipes the secrets.
func (k *Known) Forget() { k.f.drop(func(*secret) bool { return true }) }
