package verdict

import (
	"net/netip"
	"slices"

	"ptyctl/term"
)

// A hop has the parts of a term.PlannedHop that rules judge.
type hop struct {
	Alias         string       `json:"alias,omitempty"`
	Host          string       `json:"host,omitempty"`
	Port          int          `json:"port,omitempty"`
	User          string       `json:"user,omitempty"`
	Vouched       []string     `json:"vouched,omitempty"`
	Addresses     []netip.Addr `json:"addresses,omitempty"`
	Names         []string     `json:"names,omitempty"`
	HostKeyPolicy string       `json:"host_key,omitempty"`
	Pinned        bool         `json:"pinned,omitempty"`
}

func hopOf(h term.PlannedHop) hop {
	return hop{h.Alias, h.Host, h.Port, h.User, h.Vouched, h.Addresses, h.Names, h.HostKeyPolicy, h.Pinned}
}

func (h hop) planned() term.PlannedHop {
	return term.PlannedHop{
		Alias: h.Alias, Host: h.Host, Port: h.Port, User: h.User, Vouched: h.Vouched, Addresses: h.Addresses, Names: h.Names,
		HostKeyPolicy: h.HostKeyPolicy, Pinned: h.Pinned,
	}
}

// texts appends the texts of h.
func (h hop) texts(to []string) []string {
	return slices.Concat(to, []string{h.Alias, h.Host, h.User, h.HostKeyPolicy}, h.Vouched, h.Names)
}
