package fsx

import "slices"

// A page takes the names of a folder in any order, and keeps the first few after a given one: a folder of a million
// names takes no more memory than the page.
type page struct {
	after string
	limit int
	kept  []string
}

func newPage(after string, limit int) *page { return &page{after: after, limit: limit} }

func (p *page) add(name string) {
	if name <= p.after {
		return
	}
	if p.kept = append(p.kept, name); len(p.kept) > 2*p.limit+1024 {
		p.cut()
	}
}

// cut keeps one name more than the page has, which tells that there is one.
func (p *page) cut() {
	slices.Sort(p.kept)
	p.kept = p.kept[:min(len(p.kept), p.limit+1)]
}

// names returns the page's names in order. If others follow, it returns the last of them, too.
func (p *page) names() (names []string, last string, more bool) {
	p.cut()
	if len(p.kept) > p.limit {
		return p.kept[:p.limit], p.kept[p.limit-1], true
	}
	return p.kept, "", false
}
