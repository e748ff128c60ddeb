package hostkeys

import (
	"golang.org/x/crypto/ssh"

	"ptyctl/term"
)

// known has the lines of the files about one host.
type known struct {
	record  lines // of KnownHosts, UserFiles and GlobalFiles, which decide
	callers lines // of CallerFiles
}

// lines are the lines about one host in one set of files, by the name that matched.
type lines struct {
	name, bare, ip []entry
}

// record reads KnownHosts, UserFiles and GlobalFiles.
func (o *Options) record() (*database, error) {
	db, err := readDatabase(o.files())
	if err != nil || len(o.KnownHosts) == 0 {
		return db, err
	}
	first := &database{}
	first.parse(inMemory, string(o.KnownHosts))
	first.append(db)
	return first, nil
}

// read reads the record, and CallerFiles as callers.
func (o *Options) read() (record, callers *database, err error) {
	if record, err = o.record(); err != nil {
		return nil, nil, err
	}
	callers, err = readDatabase(o.CallerFiles)
	return record, callers, err
}

// withKey returns lines of the record as database.withKey does; nil if they cannot be read now.
func (o *Options) withKey(key ssh.PublicKey, limit int) []Entry {
	db, err := o.record()
	if err != nil {
		return nil
	}
	return db.withKey(key, limit)
}

// lines returns the lines about the host of this connection.
func (v *Verifier) lines(record, callers *database) known {
	return known{record: record.lines(v.names), callers: callers.lines(v.names)}
}

// lines looks one host up under all its names.
func (db *database) lines(n hostNames) lines {
	found := db.lookup(n.name, n.bare, n.ip)
	return lines{name: found[0], bare: found[1], ip: found[2]}
}

// revoked returns the line that revokes the offered key or its authority, in any of the
// files.
func (k *known) revoked(o *offer) (Entry, bool) {
	r, c := &k.record, &k.callers
	for _, entries := range [][]entry{r.name, r.bare, r.ip, c.name, c.bare, c.ip} {
		for _, e := range entries {
			if e.Marker == Revoked && o.holds(e.key) {
				return e.Entry, true
			}
		}
	}
	return Entry{}, false
}

// status is the result of a comparison of a key with the files.
type status int

const (
	notRecorded status = iota // no line confirms or contradicts the key
	confirmed                 // a line has the key
	changed                   // there are lines, but with other keys
)

// judgement is the status of an offered key, with the reasons. The field names in the
// comments say for which status a field is set.
type judgement struct {
	status      status
	entry       Entry   // confirmed: the line
	byCA        bool    // confirmed: the line has a certificate authority
	byBareName  bool    // confirmed: the line names the host without its port
	recorded    []Entry // changed: the lines
	byCaller    bool    // confirmed: the line is in CallerFiles, and the record has no line
	certificate string  // why the certificate was rejected; empty if it was not, or without one
	ip          status
	ipRecorded  []Entry // ip changed: the lines
}

// judge compares the offered key with the record, which decides, and then with the caller's
// files. Those may contradict the key, and may confirm a host without a recorded key if the
// floor allows.
func (v *Verifier) judge(k known, o *offer) judgement {
	j := k.record.judge(o, v.names.cert, v.o.CASignatureAlgorithms)
	if len(v.o.CallerFiles) == 0 || j.status == changed || j.ip == changed {
		return j
	}
	switch c := k.callers.judge(o, v.names.cert, v.o.CASignatureAlgorithms); {
	case c.status == changed || c.ip == changed:
		return c
	case j.status == notRecorded && c.status == confirmed && v.o.Floor >= AcceptNew:
		c.byCaller = true
		return c
	}
	return j
}

// judge compares the offer with the lines as OpenSSH does: first the certificate, then the
// plain key as if there were no certificate; each under the name, then under the bare name. A
// recorded plain key of any type under the name itself makes any other key a changed one.
// Under the bare name it does not, because another server may use that name.
func (k *lines) judge(o *offer, principal string, caAlgorithms []string) judgement {
	var j judgement
	if o.cert != nil {
		j.certificate = "no @cert-authority line for this host has its authority"
		for _, entries := range [][]entry{k.name, k.bare} {
			ca, found := authority(entries, o)
			if !found {
				continue
			}
			if err := o.checkCert(principal, caAlgorithms); err != nil {
				j.certificate = term.ForeignLine(err.Error(), 500) // it has the words of the certificate
				break
			}
			// A certificate names hosts, so the address is not checked.
			return judgement{status: confirmed, entry: ca, byCA: true}
		}
	}
	j.ip, _, j.ipRecorded = plain(k.ip, o)
	j.status, j.entry, j.recorded = plain(k.name, o)
	if j.status != notRecorded {
		return j
	}
	if s, e, _ := plain(k.bare, o); s == confirmed {
		j.status, j.entry, j.byBareName = confirmed, e, true
	}
	return j
}

// authority returns the line of the certificate authority that signed the offer.
func authority(entries []entry, o *offer) (Entry, bool) {
	for _, e := range entries {
		if e.Marker == CertAuthority && sameKey(e.key, o.cert.SignatureKey) {
			return e.Entry, true
		}
	}
	return Entry{}, false
}

// plain compares the offered plain key with the ordinary lines.
func plain(entries []entry, o *offer) (status, Entry, []Entry) {
	var others []Entry
	for _, e := range entries {
		if e.Marker != NoMarker {
			continue
		}
		if sameKey(e.key, o.key) {
			return confirmed, e.Entry, nil
		}
		others = append(others, e.Entry)
	}
	if others != nil {
		return changed, Entry{}, others
	}
	return notRecorded, Entry{}, nil
}
